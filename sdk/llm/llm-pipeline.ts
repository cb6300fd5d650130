import { blaming, captureCallSite } from "../core/call-site.js";
import { INTERNAL } from "../core/pipeline.js";
import type { ModelTokenizer } from "../generation/model-tokenizer.js";
import type { TextModel } from "../generation/text-model.js";
import { TextPipeline, type TextPipelineInfo } from "../generation/text-pipeline.js";
import type { TextChunk, TextResult } from "../generation/text-result.js";
import { loadModel } from "./llm-load.js";
import { LLM_CALLS, parseLLMLoadOptions, type LLMLoadOptions } from "./llm-options.js";

/** What a loaded language model is. */
export type LLMInfo = TextPipelineInfo;
/** A finished answer. */
export type LLMResult = TextResult;
/** A piece of an answer, as it comes. */
export type LLMChunk = TextChunk;
/** The model's tokenizer, for counting and cutting texts. */
export type LLMTokenizer = ModelTokenizer;

/**
 * Text generation with a decoder-only language model.
 *
 * Any number of calls may run at once; they are computed together. `dispose()` gives the memory back.
 *
 * @example
 * ```ts
 * const llm = await LLMPipeline.load("models/SmolLM2-135M-Instruct");
 * const answer = await llm.generate("What is the capital of France?");
 * console.log(answer.text);
 * await llm.dispose();
 * ```
 */
export class LLMPipeline extends TextPipeline {
  private constructor(key: typeof INTERNAL, model: TextModel) {
    super(key, model, LLM_CALLS);
  }

  /**
   * Loads a model.
   *
   * @param model - a folder with an OpenVINO model (as optimum-intel writes it), a `.gguf` file (any shard of a split one), or a
   * folder with one GGUF model; a path or a `file:` URL
   * @throws OptionError, DeviceError, ModelError, UnsupportedError, NativeError; or the signal's reason
   */
  static async load(model: string | URL, options?: LLMLoadOptions): Promise<LLMPipeline> {
    return blaming(
      captureCallSite(),
      async () => new LLMPipeline(INTERNAL, await loadModel(model, parseLLMLoadOptions(options))),
    );
  }
}
