import { parentPort, workerData } from "node:worker_threads";
import { TokenizerCore } from "./tokenizer-core.js";
import { readDefinition, type TokenizerSource } from "./tokenizer-source.js";

/** Request to the worker; the answer is a {@link WorkerAnswer} with the same `id`. */
export interface WorkerRequest {
  id: number;
  text: string;
  allowControlTokens: boolean;
  barrier: string | undefined;
}

export type WorkerAnswer = { id: number; ids: Int32Array } | { id: number; error: string };

// Runs in a worker thread only: encodes long texts there, so that the main thread is not held up.
if (parentPort) {
  const port = parentPort;
  const core = readDefinition(workerData as TokenizerSource).then((definition) => new TokenizerCore(definition));
  core.catch(() => undefined);
  port.on("message", (request: WorkerRequest) => void answer(request));

  const answer = async ({ id, text, allowControlTokens, barrier }: WorkerRequest): Promise<void> => {
    try {
      const ids: number[] = [];
      for (const part of (await core).encode(text, allowControlTokens, barrier))
        for (const token of part) ids.push(token);
      const list = Int32Array.from(ids);
      port.postMessage({ id, ids: list } satisfies WorkerAnswer, [list.buffer]);
    } catch (error) {
      port.postMessage({ id, error: (error as Error).message } satisfies WorkerAnswer);
    }
  };
}
