import { blaming, captureCallSite, type CallSite } from "../core/call-site.js";
import type { Explanation } from "../core/explain.js";
import type { NativeGeneratorInfo } from "../core/native-types.js";
import { INTERNAL, Pipeline } from "../core/pipeline.js";
import type { PipelineStream } from "../core/stream.js";
import type { RgbImage } from "../media/rgb-image.js";
import { generateImages } from "./generate-images.js";
import { explainImages } from "./image-explain.js";
import { loadImageModel } from "./image-load.js";
import {
  parseDecodeOptions,
  parseImageExplainOptions,
  parseImageLoadOptions,
  parseImageOptions,
  parseImageStreamOptions,
  type ImageLoadOptions,
  type ImageOptions,
  type ImageStreamOptions,
} from "./image-options.js";
import type { LoadedImageModel } from "./image-model.js";
import { checkImagePrompt, encodeImagePrompt } from "./image-prompt.js";
import type { ImageResult, ImageStep } from "./image-result.js";
import { planImageCall } from "./image-settings.js";
import { checkTokens, PictureDecoder } from "./picture-decoder.js";

/** What a loaded model is. */
export interface ImageInfo extends Readonly<NativeGeneratorInfo> {
  /** Family of the model. */
  architecture: string;
  /** Pixels along each side of a picture: 384. */
  imageSize: number;
  /** Tokens of a picture: 576. */
  imageTokens: number;
  /** Different tokens that a picture can be made of: 16,384. */
  codebookSize: number;
  /** Guidance scale that a call without the option uses. */
  guidance: number;
  /** Tokens the language model was made for; 0 = not told. */
  contextLength: number;
  /** Weights that are read at each step, in bytes. */
  stepWeightBytes: number;
  /** What the model's folder holds. */
  format: "openvino" | "safetensors";
  /** Time that `load()` took. */
  loadMs: number;
}

/**
 * Pictures from text, with Janus.
 *
 * Any number of calls may run at once; they are computed together. `dispose()` gives the memory back. A `VLMPipeline` on the same folder
 * shares the language model with it.
 *
 * @example
 * ```ts
 * const image = await ImagePipeline.load("models/Janus-Pro-1B");
 * const { images } = await image.generate("a red bicycle", { n: 2, seed: 7 });
 * await images[0].toFile("bicycle.png");
 * await image.dispose();
 * ```
 */
export class ImagePipeline extends Pipeline {
  readonly #model: LoadedImageModel;

  private constructor(key: typeof INTERNAL, model: LoadedImageModel) {
    super(key, model);
    this.#model = model;
  }

  /**
   * Loads a model.
   *
   * @param model - a folder with a Janus model: a Hugging Face checkpoint (safetensors, as deepseek-community publishes it), which
   * is converted the first time, or OpenVINO IR as `pergola convert` or OpenVINO's Janus notebook writes it. A path or a `file:` URL
   * @throws OptionError, DeviceError, ModelError, UnsupportedError, NativeError; or the signal's reason
   */
  static async load(model: string | URL, options?: ImageLoadOptions): Promise<ImagePipeline> {
    return blaming(
      captureCallSite(),
      async () => new ImagePipeline(INTERNAL, await loadImageModel(model, parseImageLoadOptions(options))),
    );
  }

  /** Facts about the loaded model. */
  get info(): ImageInfo {
    const { facts, generator, source, stepWeightBytes, loadMs } = this.#model;
    return {
      ...generator.info,
      architecture: source.family,
      imageSize: facts.imageSize,
      imageTokens: facts.imageTokens,
      codebookSize: facts.codebookSize,
      guidance: facts.guidanceScale,
      contextLength: source.contextLength,
      stepWeightBytes,
      format: source.format,
      loadMs,
    };
  }

  /**
   * Makes pictures of what a text describes.
   *
   * @throws OptionError, ContextLengthError, DisposedError, NativeError; or the signal's reason
   */
  async generate(prompt: string, options?: ImageOptions): Promise<ImageResult> {
    const callSite = captureCallSite();
    this.lifecycle.assertUsable("generate");
    return this.#start(prompt, parseImageOptions(options), callSite, true).result;
  }

  /**
   * Does the same and tells how far it has come, with previews if asked for. The work starts at once; wrong options throw here.
   * `stop()` (or `break`) ends it and decodes what there is.
   *
   * @throws OptionError, DisposedError; everything else comes through the stream
   */
  stream(prompt: string, options?: ImageStreamOptions): PipelineStream<ImageStep, ImageResult> {
    const callSite = captureCallSite();
    this.lifecycle.assertUsable("stream");
    return this.#start(prompt, parseImageStreamOptions(options), callSite, false);
  }

  /**
   * Decodes the image tokens of a whole picture, as they stand in a result, to the same pixels again.
   *
   * @param tokens - as many as {@link ImageInfo.imageTokens}, rows from the top
   * @throws OptionError, DisposedError, NativeError; or the signal's reason
   */
  async tokensToImage(tokens: ArrayLike<number>, options?: { signal?: AbortSignal | undefined }): Promise<RgbImage> {
    const callSite = captureCallSite();
    this.lifecycle.assertUsable("decode tokens");
    const { signal } = parseDecodeOptions(options);
    const { facts, decoder } = this.#model;
    const grid = checkTokens(tokens, facts);
    const ends = new AbortController();
    return this.lifecycle.start<never, RgbImage>(
      (control) => {
        control.onEnding(() => ends.abort());
        return new PictureDecoder(decoder, facts).decode(grid, { signal: ends.signal, callSite });
      },
      callSite,
      { signal },
    ).result;
  }

  /**
   * Tells every option in force for a call with these options, where each comes from, and what has no effect. With a `prompt`, also
   * the text that the model would see and its tokens.
   *
   * @throws OptionError, DisposedError
   */
  explain(options?: ImageStreamOptions): Explanation;
  explain(options: ImageStreamOptions & { prompt: string }): Promise<Explanation>;
  explain(options?: ImageStreamOptions & { prompt?: string }): Explanation | Promise<Explanation> {
    this.lifecycle.assertUsable("explain");
    const model = this.#model;
    const { prompt, ...parsed } = parseImageExplainOptions(options);
    const call = planImageCall(model, parsed);
    if (prompt === undefined) return explainImages(model, call);
    return encodeImagePrompt(model, checkImagePrompt(prompt)).then((encoded) => explainImages(model, call, encoded));
  }

  #start(
    prompt: unknown,
    options: ImageStreamOptions,
    callSite: CallSite,
    resultOnly: boolean,
  ): PipelineStream<ImageStep, ImageResult> {
    const model = this.#model;
    const order = { prompt: checkImagePrompt(prompt), call: planImageCall(model, options), callSite, resultOnly };
    return this.lifecycle.start<ImageStep, ImageResult>((control) => generateImages(model, order, control), callSite, {
      signal: options.signal,
    });
  }
}
