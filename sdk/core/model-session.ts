import type { CallSite } from "./call-site.js";
import { Lifecycle } from "./lifecycle.js";
import type { PipelineStream, StreamControl } from "./stream.js";
import { startTracked } from "./tracked-stream.js";

/** A loaded model with its life: the one place where calls of a pipeline start. */
export class ModelSession<Model> {
  readonly model: Model;
  readonly lifecycle: Lifecycle;

  /**
   * @param pipeline - name of the class, for messages
   * @param close - gives back what the model holds, once no call runs any more
   */
  constructor(pipeline: string, model: Model, close: () => Promise<void>) {
    this.model = model;
    this.lifecycle = new Lifecycle(pipeline, close);
  }

  /** Starts a call; `dispose()` ends it. @param signal - ends it with its reason */
  start<Chunk, Result>(
    work: (control: StreamControl<Chunk>) => Promise<Result>,
    callSite: CallSite,
    signal: AbortSignal | undefined,
  ): PipelineStream<Chunk, Result> {
    return startTracked(this.lifecycle, callSite, work, { signal });
  }
}
