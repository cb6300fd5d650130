import { ContextLengthError, OptionError } from "../core/errors.js";
import { mergeOptions, type MergedOptions } from "../core/explain.js";
import { randomSeed } from "../core/generation-options.js";
import type { NativeGeneratorInfo, NativeRequest } from "../core/native-types.js";
import { showValue } from "../core/validate.js";
import type { JanusFacts } from "../models/janus-facts.js";
import type { LoadedImageModel } from "./image-model.js";
import type { ImageStreamOptions } from "./image-options.js";
import type { EncodedImagePrompt } from "./image-prompt.js";

/** Every option with a value; `undefined` only where the run decides. */
export interface ImageSettings {
  n: number;
  /** `undefined`: drawn at random for each call. */
  seed: number | undefined;
  guidance: number;
  temperature: number;
  topK: number;
  topP: number;
  width: number;
  height: number;
  /** `undefined`: no previews. */
  previewEvery: number | undefined;
}

/** Merged settings, and what a reader may not expect about them. */
export interface ImageCall extends MergedOptions<ImageSettings> {
  notes: string[];
}

/**
 * Merges the options with what the model says and the defaults, which are those of the model's authors: the plain
 * distribution at temperature 1. The sampling values of `generation_config.json` are meant for text and do not count here.
 *
 * @throws OptionError for a size that the model does not make
 */
export function planImageCall(
  { facts, source }: Pick<LoadedImageModel, "facts" | "source">,
  options: ImageStreamOptions,
): ImageCall {
  const { imageSize } = facts;
  const defaults: ImageSettings = {
    n: 1,
    seed: undefined,
    guidance: facts.guidanceScale,
    temperature: 1,
    topK: 0,
    topP: 1,
    width: imageSize,
    height: imageSize,
    previewEvery: undefined,
  };
  const { values, sources } = mergeOptions([{ source: "call", values: options }], defaults);
  if (sources.guidance === "default" && source.generationConfig["guidance_scale"] === facts.guidanceScale) {
    sources.guidance = "generation_config.json";
  }
  for (const side of ["width", "height"] as const) {
    checkSide(side, values[side], facts);
    if (sources[side] === "default") sources[side] = "model";
  }
  const notes: string[] = [];
  if (values.temperature === 0) {
    const idle = (["topK", "topP", "seed"] as const).filter((name) => sources[name] === "call");
    if (idle.length > 0) notes.push(`${idle.join(", ")}: no effect, the likeliest token is taken (temperature 0).`);
    if (values.n > 1) notes.push("n: at temperature 0 all pictures are the same.");
  }
  if (values.guidance === 0) notes.push("guidance 0: of the prompt only the length has an effect.");
  return { values, sources, notes };
}

function checkSide(path: "width" | "height", received: number, { imageSize }: JanusFacts): void {
  if (received === imageSize) return;
  const expected = `${imageSize}, the only size this model makes (${imageSize} × ${imageSize} pixels)`;
  throw new OptionError(
    `${path} must be ${expected}; received ${showValue(received)}. Leave it out, or resize the result.`,
    {
      path,
      expected,
      received,
    },
  );
}

/** The seed of each picture; the highest ones wrap around. */
export function pictureSeeds({ n, seed }: ImageSettings): number[] {
  const first = seed ?? randomSeed();
  const last = Number.MAX_SAFE_INTEGER;
  return Array.from({ length: n }, (_, index) => (index <= last - first ? first + index : index - (last - first) - 1));
}

/**
 * A native request for each seed. They are computed together: a pair of rows for each picture, one row without guidance.
 *
 * @throws ContextLengthError if the prompt with a whole picture cannot fit
 */
export function planPictures(
  model: Pick<LoadedImageModel, "facts"> & { generator: { info: NativeGeneratorInfo } },
  prompt: EncodedImagePrompt,
  settings: ImageSettings,
  seeds: readonly number[],
): NativeRequest[] {
  const { imageTokens } = model.facts;
  const guided = settings.guidance !== 1;
  checkRoom(prompt.ids.length, imageTokens, guided, model.generator.info);
  const promptIds = Int32Array.from(prompt.ids);
  const unconditionalIds = Int32Array.from(prompt.unconditionalIds);
  return seeds.map((seed) => ({
    promptIds,
    ...(guided && { guidance: { scale: settings.guidance, promptIds: unconditionalIds } }),
    maxNewTokens: imageTokens,
    minNewTokens: 0,
    stopTokenIds: [],
    sampling: {
      temperature: settings.temperature,
      topK: settings.topK,
      topP: settings.topP,
      minP: 0,
      repetitionPenalty: 1,
      presencePenalty: 0,
      frequencyPenalty: 0,
      logitBias: [],
      seed,
      logprobs: -1,
    },
  }));
}

function checkRoom(promptTokens: number, imageTokens: number, guided: boolean, info: NativeGeneratorInfo): void {
  // With guidance a picture is a pair of sequences, each as long as the prompt and the picture.
  const inCache = Math.floor(info.kvCapacityTokens / (guided ? 2 : 1));
  const limit = Math.min(info.maxRequestTokens, inCache);
  const requested = promptTokens + imageTokens;
  if (requested <= limit) return;
  const reason =
    inCache < info.maxRequestTokens || info.maxRequestTokens >= info.kvCapacityTokens
      ? `the KV cache holds ${info.kvCapacityTokens}${guided ? ", for two rows with guidance" : ""}: shorten the prompt, or load with a larger kvCache`
      : `the model's context is ${info.maxRequestTokens}: shorten the prompt`;
  throw new ContextLengthError(
    `The prompt has ${promptTokens} tokens and a picture ${imageTokens} more, but ${limit} fit (${reason}).`,
    { limit, requested },
  );
}
