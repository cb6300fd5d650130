import { blaming, captureCallSite } from "../core/call-site.js";
import { INTERNAL } from "../core/pipeline.js";
import type { ModelTokenizer } from "../generation/model-tokenizer.js";
import { TextPipeline, type TextPipelineInfo } from "../generation/text-pipeline.js";
import type { TextChunk, TextResult } from "../generation/text-result.js";
import { loadVisionModel, type LoadedVisionModel } from "./vlm-load.js";
import type { VLMPart } from "./vlm-messages.js";
import { parseVLMLoadOptions, VLM_CALLS, type VLMLoadOptions, type VLMOptions } from "./vlm-options.js";

/** What a loaded vision-language model is. */
export interface VLMInfo extends TextPipelineInfo {
  /** The kind of model, for example `LLaVA 1.5`. */
  family: string;
  /** The vision encoder: its device, and the time that loading it took. */
  vision: { device: string; fromCache: boolean; loadMs: number };
}

/** A finished answer. Tokens of pictures count as tokens of the prompt. */
export type VLMResult = TextResult;
/** A piece of an answer, as it comes. */
export type VLMChunk = TextChunk;
/** The model's tokenizer, for counting and cutting texts. */
export type VLMTokenizer = ModelTokenizer<VLMPart>;

/**
 * Answers about pictures, with a vision-language model: captions, questions, several pictures, several turns.
 *
 * Features of pictures are kept: a further question about a picture runs neither decoder nor encoder, and what the language model
 * has computed of it is reused.
 *
 * @example
 * ```ts
 * const vlm = await VLMPipeline.load("models/Janus-Pro-1B");
 * const { text } = await vlm.generate("Describe the image.", { images: ["photo.jpg"] });
 * const chat = vlm.startChat();
 * await chat.send([{ type: "image", image: "plot.png" }, { type: "text", text: "What does it show?" }]).result;
 * await vlm.dispose();
 * ```
 */
export class VLMPipeline extends TextPipeline<VLMPart, VLMOptions> {
  readonly #loaded: LoadedVisionModel;

  private constructor(key: typeof INTERNAL, loaded: LoadedVisionModel) {
    super(key, loaded?.model, VLM_CALLS);
    this.#loaded = loaded;
  }

  /**
   * Loads a model.
   *
   * @param model - a folder with OpenVINO IR (as optimum-intel, the OpenVINO notebooks or `pergola convert` write it), or a Janus
   * checkpoint (safetensors), which is converted into the cache the first time; a path or a `file:` URL
   * @throws OptionError, DeviceError, ModelError, UnsupportedError, NativeError; or the signal's reason
   */
  static async load(model: string | URL, options?: VLMLoadOptions): Promise<VLMPipeline> {
    return blaming(
      captureCallSite(),
      async () => new VLMPipeline(INTERNAL, await loadVisionModel(model, parseVLMLoadOptions(options))),
    );
  }

  /** What was loaded, and how. */
  override get info(): VLMInfo {
    const { family, vision } = this.#loaded;
    return { ...super.info, family, vision: { ...vision } };
  }
}
