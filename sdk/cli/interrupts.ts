import { EXIT, Interrupted } from "./exit-codes.js";

/** How long an interrupted load may take to end in order. */
const GRACE_MS = 300;

/**
 * What Ctrl-C does while a conversation is open: from `watch()` to `close()` the signal never ends the process by itself,
 * so that there is no moment in which it would.
 */
export class Interrupts {
  #onFirst: (() => void) | undefined;
  #count = 0;
  readonly #onSignal = (): void => {
    this.#count++;
    if (this.#count > 1) process.exit(EXIT.interrupted);
    this.#onFirst?.();
  };

  constructor() {
    process.on("SIGINT", this.#onSignal);
  }

  /** Forgets earlier signals: what the user types next is a new beginning. */
  reset(): void {
    this.#count = 0;
  }

  /** Runs work that the first signal ends by `onFirst`, at once if it has come already; a second one ends the process. */
  async during<Value>(work: () => Promise<Value>, onFirst: () => void): Promise<Value> {
    this.#onFirst = onFirst;
    if (this.#count > 0) onFirst();
    try {
      return await work();
    } finally {
      this.#onFirst = undefined;
    }
  }

  close(): void {
    process.off("SIGINT", this.#onSignal);
  }
}

/** Runs work that Ctrl-C may end: the first one calls `onFirst`, a second one leaves at once. */
export async function interruptible<Value>(work: () => Promise<Value>, onFirst: () => void): Promise<Value> {
  const interrupts = new Interrupts();
  try {
    return await interrupts.during(work, onFirst);
  } finally {
    interrupts.close();
  }
}

/**
 * Runs a load that Ctrl-C ends at once: work that cannot be stopped in the middle (compiling for a device) is not waited for.
 *
 * @throws Interrupted after Ctrl-C
 */
export function interruptibleLoad<Loaded>(load: (signal: AbortSignal) => Promise<Loaded>): Promise<Loaded> {
  const loading = new AbortController();
  return interruptible(
    () => load(loading.signal),
    () => {
      loading.abort(new Interrupted("interrupted while loading"));
      setTimeout(() => process.exit(EXIT.interrupted), GRACE_MS).unref();
    },
  );
}
