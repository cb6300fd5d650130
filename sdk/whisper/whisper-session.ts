import type { CallSite } from "../core/call-site.js";
import { Lifecycle } from "../core/lifecycle.js";
import type { PipelineStream, StreamControl } from "../core/stream.js";
import { startTracked } from "../core/tracked-stream.js";
import type { LoadedWhisper } from "./whisper-model.js";

/** A loaded model with its life: the one place where calls start. */
export class WhisperSession {
  readonly model: LoadedWhisper;
  readonly lifecycle: Lifecycle;

  constructor(model: LoadedWhisper) {
    this.model = model;
    this.lifecycle = new Lifecycle("WhisperPipeline", async () => {
      await model.transcriber.close();
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
