import { fromNative, PergolaError } from "./errors.js";

/** The place in the user's code that a call came from. */
export interface CallSite {
  stack?: string;
}

/** Call it first in a public function: its frame is the first one, the user's the second. */
export function captureCallSite(): CallSite {
  const site: CallSite = {};
  Error.captureStackTrace(site, captureCallSite);
  return site;
}

/** Gives an error the SDK's class and the stack of the call, as work runs long after it. */
export function blameCaller(error: unknown, site: CallSite): unknown {
  const mapped = fromNative(error, site);
  if (mapped === error && PergolaError.isInstance(error)) {
    const frames = site.stack?.split("\n").slice(1).join("\n");
    if (frames) error.stack = `${error.name}: ${error.message}\n${frames}`;
  }
  return mapped;
}

/** Does work of a public call; what it throws points at the caller. */
export async function blaming<Result>(site: CallSite, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw blameCaller(error, site);
  }
}
