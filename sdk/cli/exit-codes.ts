/** Exit codes of the command line program. */
export const EXIT = {
  ok: 0,
  error: 1,
  /** Wrong options or arguments. */
  usage: 2,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const;

/** A mistake in how the program was called. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Ctrl-C ended the work. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}
