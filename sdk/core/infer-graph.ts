import { fromNative } from "./errors.js";
import type { CallSite } from "./call-site.js";
import { runNativeJob } from "./native-job.js";
import type { NativeGraph, NativeTensor } from "./native-types.js";

export interface InferOptions {
  /** Cuts the inference short; it rejects with the signal's reason once native work has ended. */
  signal?: AbortSignal | undefined;
  /** Where the user called; its stack goes onto native errors. */
  callSite?: CallSite | undefined;
}

/**
 * Runs a graph once, in a thread of the addon.
 *
 * @param inputs - by name, or all in the order of the graph's ports
 * @returns a tensor for each output, in the order of the ports
 * @throws the SDK's class for a native error, or the signal's reason
 */
export async function inferGraph(
  graph: NativeGraph,
  inputs: NativeTensor[],
  { signal, callSite }: InferOptions = {},
): Promise<NativeTensor[]> {
  try {
    return await runNativeJob(() => graph.infer(inputs), signal);
  } catch (error) {
    throw signal?.aborted ? error : fromNative(error, callSite);
  }
}
