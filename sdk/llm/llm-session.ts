import { blameCaller } from "../core/call-site.js";
import { mergeGeneration, type GenerationLayer } from "../core/generation-options.js";
import { Lifecycle } from "../core/lifecycle.js";
import { PipelineStream, type StreamOptions } from "../core/stream.js";
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
    const stream = new PipelineStream<LLMChunk, LLMResult>(async (control) => {
      try {
        return await answer(this.model, { ...call, generation }, control);
      } catch (error) {
        throw blameCaller(error, call.callSite);
      }
    }, options);
    this.lifecycle.track({ end: (reason) => stream.abort(blameCaller(reason, call.callSite)), ended: stream.ended });
    return stream;
  }
}
