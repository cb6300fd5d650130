import { Worker } from "node:worker_threads";
import { DisposedError } from "../core/errors.js";
import { fileBeside } from "../core/own-file.js";
import type { TokenizerSource } from "./tokenizer-source.js";
import type { WorkerAnswer, WorkerRequest } from "./tokenizer-worker.js";

interface Pending {
  resolve: (ids: Int32Array) => void;
  reject: (reason: Error) => void;
}

/**
 * Encodes in a worker thread, which starts with the first request and makes the tokenizer anew from its source. It keeps
 * the process alive only while a request is under way.
 */
export class WorkerEncoder {
  readonly #source: TokenizerSource;
  readonly #file: string | undefined;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | undefined;
  #usable: boolean;
  #nextId = 0;

  constructor(source: TokenizerSource) {
    this.#source = source;
    this.#file = fileBeside("tokenizer-worker.js", import.meta.url);
    this.#usable = this.#file !== undefined;
  }

  /** False where there is no worker file, or where it failed once. */
  get usable(): boolean {
    return this.#usable;
  }

  /** Ids of a text, without BOS and EOS. Rejects where the worker fails; `usable` is false from then on. */
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
    this.#usable = false;
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
      if ("ids" in answer) pending.resolve(answer.ids);
      else this.#fail(pending, new Error(answer.error));
    });
    worker.on("error", (error) => this.#lost(error));
    worker.on("exit", (code) => this.#lost(new Error(`The tokenizer's worker thread ended with code ${code}.`)));
    return worker;
  }

  #fail(pending: Pending, error: Error): void {
    this.#usable = false;
    pending.reject(error);
  }

  #lost(error: Error): void {
    if (!this.#worker) return;
    this.#usable = false;
    this.#worker = undefined;
    this.#rejectAll(error);
  }

  #rejectAll(error: Error): void {
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(error);
  }
}
