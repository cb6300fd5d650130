import { blameCaller, type CallSite } from "./call-site.js";
import type { Lifecycle } from "./lifecycle.js";
import { PipelineStream, type StreamControl, type StreamOptions } from "./stream.js";

/** Starts work of a pipeline as a stream that is ended when its owner is disposed; its errors point at the caller. */
export function startTracked<Chunk, Result>(
  lifecycle: Lifecycle,
  callSite: CallSite,
  work: (control: StreamControl<Chunk>) => Promise<Result>,
  options: StreamOptions<Result>,
): PipelineStream<Chunk, Result> {
  const stream = new PipelineStream<Chunk, Result>(async (control) => {
    try {
      return await work(control);
    } catch (error) {
      throw blameCaller(error, callSite);
    }
  }, options);
  lifecycle.track({ end: (reason) => stream.abort(blameCaller(reason, callSite)), ended: stream.ended });
  return stream;
}
