import { abortReason, throwIfAborted } from "./abort.js";
import { getNative } from "./native.js";
import type { NativeJob } from "./native-types.js";

/**
 * The result of a native job, which is asked to end when the signal fires. What a stopped job gives is said where it begins:
 * most reject, some resolve with what there is.
 */
export async function stoppable<Result>(
  { job, promise }: NativeJob<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  const stop = (): void => getNative().stop(job);
  // What began the job may have made the signal fire.
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    return await promise;
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

/**
 * Runs a native job whose result is not wanted any more once the signal has fired.
 *
 * @param discard - gives back a result that came all the same
 * @throws what the job throws, or the signal's reason once native work has ended
 */
export async function runNativeJob<Result>(
  start: () => NativeJob<Result>,
  signal: AbortSignal | undefined,
  discard?: (result: Result) => Promise<void>,
): Promise<Result> {
  throwIfAborted(signal);
  let result: Result;
  try {
    result = await stoppable(start(), signal);
  } catch (error) {
    throw signal?.aborted ? abortReason(signal) : error;
  }
  // It may have been through already when the signal fired.
  if (signal?.aborted) await discard?.(result);
  throwIfAborted(signal);
  return result;
}
