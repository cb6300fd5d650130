import { Worker } from "node:worker_threads";
import { DisposedError } from "../core/errors.js";
import { fileBeside } from "../core/own-file.js";
import type { TokenizerSource } from "./tokenizer-source.js";
import type { WorkerAnswer, WorkerRequest } from "./tokenizer-worker.js";

interface Pending {
  resolve: (ids: Int32Array) => void;
  reject: (reason: Error) => void;
}

/** A worker that was lost is started anew this often in a row before the calling thread does all work. */
const MOST_FAILURES = 3;

/**
 * Encodes in a worker thread, which starts with the first request and makes the tokenizer anew from its source. It keeps
 * the process alive only while a request is under way.
 */
export class WorkerEncoder {
  readonly #source: TokenizerSource;
  readonly #file: string | undefined;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | undefined;
  #disposed = false;
  /** Failures since the last answer. */
  #failures = 0;
  #nextId = 0;

  constructor(source: TokenizerSource) {
    this.#source = source;
    this.#file = fileBeside("tokenizer-worker.js", import.meta.url);
  }

  /** False where there is no worker file, or where the worker failed again and again without an answer between. */
  get usable(): boolean {
    return this.#file !== undefined && !this.#disposed && this.#failures < MOST_FAILURES;
  }

  /** Ids of a text, without BOS and EOS. Rejects where the worker fails; the next call starts another one. */
  encode(text: string, allowControlTokens: boolean, barrier?: string): Promise<Int32Array> {
    const worker = (this.#worker ??= this.#start());
    const id = this.#nextId++;
    return new Promise<Int32Array>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      worker.ref();
      worker.postMessage({ id, text, allowControlTokens, barrier } satisfies WorkerRequest);
    });
  }

  /** Ends the worker; requests under way are rejected. */
  async dispose(): Promise<void> {
    this.#disposed = true;
    const worker = this.#worker;
    this.#worker = undefined;
    this.#rejectAll(new DisposedError("The tokenizer was disposed while it encoded a text."));
    await worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(this.#file!, { workerData: this.#source });
    worker.unref();
    worker.on("message", (answer: WorkerAnswer) => {
      const pending = this.#pending.get(answer.id);
      this.#pending.delete(answer.id);
      if (this.#pending.size === 0) worker.unref();
      if (!pending) return;
      if ("ids" in answer) {
        this.#failures = 0;
        pending.resolve(answer.ids);
      } else {
        this.#failures++;
        pending.reject(new Error(answer.error));
      }
    });
    worker.on("error", (error) => this.#lost(worker, error));
    worker.on("exit", (code) =>
      this.#lost(worker, new Error(`The tokenizer's worker thread ended with code ${code}.`)),
    );
    return worker;
  }

  /** An error is followed by the end of the worker, when another one may run already. */
  #lost(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#failures++;
    this.#worker = undefined;
    this.#rejectAll(error);
  }

  #rejectAll(error: Error): void {
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(error);
  }
}
