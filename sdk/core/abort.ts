/** The reason of an aborted signal; some polyfills leave it out. */
export function abortReason(signal: AbortSignal): unknown {
  return signal.reason ?? new DOMException("This operation was aborted", "AbortError");
}

/** @throws the signal's reason if it is aborted */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortReason(signal);
}

/**
 * Waits for work that cannot be broken off itself, until it is done or the signal is aborted.
 *
 * @throws the signal's reason
 */
export async function unlessAborted<Value>(waiting: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (!signal) return waiting;
  // Nobody waits for it any more after an abort.
  waiting.catch(() => undefined);
  throwIfAborted(signal);
  let abort!: () => void;
  const aborted = new Promise<void>((resolve) => {
    abort = resolve;
  });
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([waiting, aborted]);
    throwIfAborted(signal);
    return await waiting;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** True for what may be passed as `signal`, from any realm. */
export function isAbortSignal(value: unknown): value is AbortSignal {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as AbortSignal).aborted === "boolean" &&
    typeof (value as AbortSignal).addEventListener === "function"
  );
}
