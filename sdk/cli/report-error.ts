import { CommanderError } from "commander";
import { OptionError, PergolaError } from "../index.js";
import { EXIT, Interrupted, UsageError } from "./exit-codes.js";
import { flagOf } from "./flags.js";

/** What is printed for an error, and the exit code it means. */
export interface ErrorReport {
  /** Undefined where nothing needs to be said. */
  text: string | undefined;
  exitCode: number;
}

/** The SDK speaks of `maxNewTokens`; who typed `--max-new-tokens` wants to read that. */
function inFlagTerms(error: OptionError): string {
  const flag = flagOf(error.path);
  return flag ? error.message.replace(error.path, flag) : error.message;
}

/**
 * Says in one message what went wrong. Stacks are for bug reports: with `PERGOLA_DEBUG=1` they are printed, and so are
 * those of errors that nobody foresaw.
 */
export function describeError(error: unknown, debug = process.env["PERGOLA_DEBUG"] === "1"): ErrorReport {
  // Commander has printed its message (or the help text) itself.
  if (error instanceof CommanderError) {
    return { text: undefined, exitCode: error.exitCode === 0 ? EXIT.ok : EXIT.usage };
  }
  if (error instanceof Interrupted) return { text: undefined, exitCode: EXIT.interrupted };
  const stack = error instanceof Error ? error.stack : undefined;
  if (error instanceof UsageError) return { text: debug ? stack : `error: ${error.message}`, exitCode: EXIT.usage };
  if (PergolaError.isInstance(error)) {
    const isUsage = OptionError.isInstance(error);
    const message = isUsage ? inFlagTerms(error) : error.message;
    return { text: debug ? stack : `error: ${message}`, exitCode: isUsage ? EXIT.usage : EXIT.error };
  }
  if (isSystemError(error)) return { text: debug ? stack : `error: ${error.message}`, exitCode: EXIT.error };
  return { text: stack ?? `error: ${String(error)}`, exitCode: EXIT.error };
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === "string";
}
