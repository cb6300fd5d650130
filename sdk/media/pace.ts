import { throwIfAborted } from "../core/abort.js";

/** Longest stretch of work before the event loop gets its turn, in milliseconds. */
const TURN_MS = 4;

/** Keeps long work from blocking the event loop: call `turn()` between small blocks. */
export class Pace {
  readonly #signal: AbortSignal | undefined;
  #since = performance.now();

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /** Lets other work of this thread run if it has waited long enough. @throws the signal's reason if it is aborted */
  async turn(): Promise<void> {
    throwIfAborted(this.#signal);
    if (performance.now() - this.#since < TURN_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#since = performance.now();
    throwIfAborted(this.#signal);
  }
}
