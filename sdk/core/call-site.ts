import { fromNative, PergolaError } from "./errors.js";

/** The place in the user's code that a call came from. */
export interface CallSite {
  stack?: string;
}

/** @param entry - the public function that was called; frames from it on downwards are left out */
export function captureCallSite(entry: (...values: never[]) => unknown): CallSite {
  const site: CallSite = {};
  Error.captureStackTrace(site, entry);
  return site;
}

/** Gives an error the SDK's class and a stack that begins at the user's line, as work runs long after the call. */
export function blameCaller(error: unknown, site: CallSite): unknown {
  const mapped = fromNative(error, site);
  if (mapped === error && PergolaError.isInstance(error)) {
    const frames = site.stack?.split("\n").slice(1).join("\n");
    if (frames) error.stack = `${error.name}: ${error.message}\n${frames}`;
  }
  return mapped;
}
