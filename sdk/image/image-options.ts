import { z } from "zod";
import { parseLoadOptions, type LoadOptions } from "../core/load-options.js";
import { numberIn, signal, wholeNumber } from "../core/option-schemas.js";
import { parseOptions } from "../core/validate.js";

/** Options of {@link ImagePipeline.load}. */
export type ImageLoadOptions = LoadOptions;

/** Options of {@link ImagePipeline.generate}. */
export interface ImageOptions {
  /** Pictures to make of the prompt, 1 to 64; computed together. Defaults to 1. */
  n?: number | undefined;
  /** 0 to 2^53-1. The seed of picture *i* is `seed + i`, whatever `n` is. Defaults to a random one, told in the result. */
  seed?: number | undefined;
  /**
   * Scale of classifier-free guidance, 0 to 100: how much more than without a prompt the picture follows it. 1 turns guidance off,
   * which halves the work; 0 ignores all of the prompt but its length. Defaults to `guidance_scale` of the model's `generation_config.json`, else 5.
   */
  guidance?: number | undefined;
  /** 0 to 2. 0 is greedy: always the likeliest token, the same picture for every seed. Defaults to 1. */
  temperature?: number | undefined;
  /** Sample among this many likeliest tokens; 0 = no limit, as the model's authors do. Defaults to 0. */
  topK?: number | undefined;
  /** Sample among the likeliest tokens that together have this probability, above 0 up to 1. Defaults to 1. */
  topP?: number | undefined;
  /** Pixels. Only the size that the model makes is possible (384). Defaults to that. */
  width?: number | undefined;
  /** Pixels, like `width`. */
  height?: number | undefined;
  /** Ends the call; it rejects with the signal's reason once native work has ended. */
  signal?: AbortSignal | undefined;
}

/** Options of {@link ImagePipeline.stream}. */
export interface ImageStreamOptions extends ImageOptions {
  /**
   * Decode what is there of the pictures after every so many tokens. A preview costs as much as decoding the finished picture
   * (seconds on a CPU), for each picture. Defaults to no previews.
   */
  previewEvery?: number | undefined;
}

const callFields = {
  n: wholeNumber(1, 64).optional(),
  seed: wholeNumber(0).optional(),
  guidance: numberIn(0, 100).optional(),
  temperature: numberIn(0, 2).optional(),
  topK: wholeNumber(0, undefined, " (0 = no limit)").optional(),
  topP: z.number().gt(0).max(1).describe("a number above 0 and up to 1").optional(),
  // Which size is possible is the model's to say.
  width: z.number().describe("a number of pixels").optional(),
  height: z.number().describe("a number of pixels").optional(),
  signal: signal.optional(),
};

const callSchema = z.strictObject(callFields);
const streamSchema = z.strictObject({ ...callFields, previewEvery: wholeNumber(1).optional() });
const explainSchema = z.strictObject({
  ...callFields,
  previewEvery: wholeNumber(1).optional(),
  prompt: z.unknown().optional(),
});
const decodeSchema = z.strictObject({ signal: signal.optional() });

/** @throws OptionError */
export function parseImageLoadOptions(value: unknown): ImageLoadOptions {
  return parseLoadOptions(value);
}

/** @throws OptionError */
export function parseImageOptions(value: unknown): ImageOptions {
  return parseOptions(callSchema, value === undefined ? {} : value);
}

/** @throws OptionError */
export function parseImageStreamOptions(value: unknown): ImageStreamOptions {
  return parseOptions(streamSchema, value === undefined ? {} : value);
}

/** @throws OptionError */
export function parseImageExplainOptions(value: unknown): ImageStreamOptions & { prompt?: unknown } {
  return parseOptions(explainSchema, value === undefined ? {} : value);
}

/** @throws OptionError */
export function parseDecodeOptions(value: unknown): { signal?: AbortSignal | undefined } {
  return parseOptions(decodeSchema, value === undefined ? {} : value);
}
