import { mergeGeneration, type GenerationLayer } from "../core/generation-options.js";
import { Lifecycle } from "../core/lifecycle.js";
import type { PipelineStream, StreamOptions } from "../core/stream.js";
import { startTracked } from "../core/tracked-stream.js";
import { answer, type Question } from "./answer.js";
import type { TextModel } from "./text-model.js";
import type { TextChunk, TextResult } from "./text-result.js";

/** What is asked, with everything that was checked already. */
export interface Call<Part> extends Omit<Question<Part>, "generation"> {
  /** Strongest first, without the model's own. */
  layers: readonly GenerationLayer[];
}

/** A loaded model with its life: the one place where calls of the pipeline and of its chats start. */
export class TextSession<Part> {
  readonly model: TextModel<Part>;
  readonly lifecycle: Lifecycle;

  constructor(model: TextModel<Part>) {
    this.model = model;
    this.lifecycle = new Lifecycle(model.pipeline, () => model.close());
  }

  /**
   * Starts a call.
   *
   * @throws OptionError where options contradict each other
   */
  start(call: Call<Part>, options: StreamOptions<TextResult>): PipelineStream<TextChunk, TextResult> {
    const generation = mergeGeneration([...call.layers, this.model.configLayer]);
    return startTracked(
      this.lifecycle,
      call.callSite,
      (control) => answer(this.model, { ...call, generation }, control),
      options,
    );
  }
}
