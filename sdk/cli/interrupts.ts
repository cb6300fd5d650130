/**
 * What Ctrl-C does while a conversation is open: from `watch()` to `close()` the signal never ends the process by itself,
 * so that there is no moment in which it would.
 */
export class Interrupts {
  #onFirst: (() => void) | undefined;
  #count = 0;
  readonly #onSignal = (): void => {
    this.#count++;
    if (this.#count > 1) process.exit(130);
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
