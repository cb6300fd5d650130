import { mergeGeneration, type GenerationLayer } from "../core/generation-options.js";
import { Lifecycle } from "../core/lifecycle.js";
import type { PipelineStream, StreamOptions } from "../core/stream.js";
import { startTracked } from "../core/tracked-stream.js";
import { answer, type Question } from "./answer.js";
import type { LoadedModel } from "./llm-model.js";
import type { LLMChunk, LLMResult } from "./llm-result.js";

/** What is asked, with everything that was checked already. */
export interface Call extends Omit<Question, "generation"> {
  /** Strongest first, without the model's own. */
  layers: readonly GenerationLayer[];
}

/** A loaded model with its life: the one place where calls of the pipeline and of its chats start. */
export class LLMSession {
  readonly model: LoadedModel;
  readonly lifecycle: Lifecycle;

  constructor(model: LoadedModel) {
    this.model = model;
    this.lifecycle = new Lifecycle("LLMPipeline", async () => {
      await model.generator.close();
      await model.tokenizer.dispose();
    });
  }

  /**
   * Starts a call.
   *
   * @throws OptionError where options contradict each other
   */
  start(call: Call, options: StreamOptions<LLMResult>): PipelineStream<LLMChunk, LLMResult> {
    const generation = mergeGeneration([...call.layers, this.model.configLayer]);
    return startTracked(
      this.lifecycle,
      call.callSite,
      (control) => answer(this.model, { ...call, generation }, control),
      options,
    );
  }
}
