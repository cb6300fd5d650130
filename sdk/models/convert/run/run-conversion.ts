import { rm } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import { abortReason, throwIfAborted } from "../../../core/abort.js";
import { fileBeside } from "../../../core/own-file.js";
import { convertHere, unpackError, type ConversionRequest, type WorkerMessage } from "./conversion-worker.js";

export interface ConversionHooks {
  signal?: AbortSignal | undefined;
  /** Told the share of the weights that is written, from 0 to 1; what it throws ends the conversion. */
  onProgress?: ((fraction: number) => void) | undefined;
}

/**
 * Runs a conversion in a worker thread, so that reading a large tokenizer and rounding weights never hold up this one; here
 * where there is no worker file (TypeScript sources, bundled programs).
 *
 * @returns the names of the files
 * @throws the signal's reason, ModelError, UnsupportedError
 */
export async function runConversion(request: ConversionRequest, hooks: ConversionHooks): Promise<string[]> {
  throwIfAborted(hooks.signal);
  const worker = fileBeside("conversion-worker.js", import.meta.url);
  const files = worker === undefined ? undefined : await convertInWorker(worker, request, hooks);
  return files ?? convertHere(request, hooks);
}

/** Undefined where the worker could not be started. */
function convertInWorker(
  file: string,
  request: ConversionRequest,
  { signal, onProgress }: ConversionHooks,
): Promise<string[] | undefined> {
  const worker = new Worker(file, { workerData: request });
  return new Promise<string[] | undefined>((resolve, reject) => {
    let started = false;
    /** Why the worker was told to stop. */
    let stopped: { reason: unknown } | undefined;
    const stop = (reason: unknown): void => {
      stopped ??= { reason };
      worker.postMessage("stop");
    };
    const onAbort = (): void => stop(abortReason(signal!));
    signal?.addEventListener("abort", onAbort, { once: true });
    const settle = (end: () => void): void => {
      signal?.removeEventListener("abort", onAbort);
      end();
    };
    worker.on("message", (message: WorkerMessage) => {
      switch (message.type) {
        case "started":
          started = true;
          break;
        case "progress":
          try {
            if (!stopped) onProgress?.(message.fraction);
          } catch (error) {
            stop(error);
          }
          break;
        case "done":
          if (!stopped) settle(() => resolve(message.files));
          else void discard(request).finally(() => settle(() => reject(asError(stopped!.reason))));
          break;
        case "failed":
          settle(() => reject(stopped ? asError(stopped.reason) : unpackError(message.error)));
          break;
      }
    });
    worker.on("error", (error) => settle(() => (started ? reject(error) : resolve(undefined))));
    worker.on("exit", (code) =>
      settle(() => reject(new Error(`The conversion's worker thread ended with code ${code}.`))),
    );
  });
}

/** The order to stop came too late. In the cache a conversion may stay; a folder that somebody named must not. */
async function discard({ keepOther, target }: ConversionRequest): Promise<void> {
  if (!keepOther) await rm(target, { recursive: true, force: true });
}

/** Reasons may be anything; they are passed on as they are. */
function asError(reason: unknown): Error {
  return reason as Error;
}
