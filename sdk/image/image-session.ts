import type { CallSite } from "../core/call-site.js";
import { Lifecycle } from "../core/lifecycle.js";
import type { PipelineStream, StreamControl } from "../core/stream.js";
import { startTracked } from "../core/tracked-stream.js";
import type { LoadedImageModel } from "./image-model.js";

/** A loaded model with its life: the one place where calls start. */
export class ImageSession {
  readonly model: LoadedImageModel;
  readonly lifecycle: Lifecycle;

  constructor(model: LoadedImageModel) {
    this.model = model;
    this.lifecycle = new Lifecycle("ImagePipeline", async () => {
      await Promise.all([model.generator.close(), model.decoder.close()]);
      await model.tokenizer.dispose();
    });
  }

  start<Chunk, Result>(
    work: (control: StreamControl<Chunk>) => Promise<Result>,
    callSite: CallSite,
    signal: AbortSignal | undefined,
  ): PipelineStream<Chunk, Result> {
    return startTracked(this.lifecycle, callSite, work, { signal });
  }
}
