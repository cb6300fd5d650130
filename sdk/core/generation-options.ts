import { z } from "zod";
import { OptionError } from "./errors.js";
import { mergeOptions, type MergedOptions, type OptionLayer } from "./explain.js";
import { flag, numberIn, wholeNumber } from "./option-schemas.js";
import { parseOptions, showValue } from "./validate.js";

/** How an answer is made. An option that is left out follows the chat, then the model's `generation_config.json`, then the default. */
export interface GenerationOptions {
  /**
   * Most tokens of the answer. 0 gives an empty answer at once (`finishReason: "length"`).
   * Defaults to what is left of the context.
   */
  maxNewTokens?: number | undefined;
  /** Stop tokens are held off until the answer has this many tokens. Defaults to 0. */
  minNewTokens?: number | undefined;
  /** 0 to 2. 0 is greedy: always the likeliest token. Defaults to 0 unless the model's `generation_config.json` asks for sampling. */
  temperature?: number | undefined;
  /** Sample among this many likeliest tokens; 0 = no limit. Defaults to 0. */
  topK?: number | undefined;
  /** Sample among the likeliest tokens that together have this probability, above 0 up to 1. Defaults to 1. */
  topP?: number | undefined;
  /** Leave out tokens less likely than this share of the likeliest one's probability, 0 up to below 1. Defaults to 0. */
  minP?: number | undefined;
  /** Divides (above 1) the scores of tokens already present, prompt included; more than 0. Defaults to 1. */
  repetitionPenalty?: number | undefined;
  /** Subtracted once from the score of a token already in the answer, -2 to 2. Defaults to 0. */
  presencePenalty?: number | undefined;
  /** Subtracted for each time a token is already in the answer, -2 to 2. Defaults to 0. */
  frequencyPenalty?: number | undefined;
  /** Added to the scores of tokens: token id → -100 to 100. Defaults to none. */
  logitBias?: Record<number, number> | undefined;
  /** Report the log probability of each token of the answer. Defaults to false. */
  logprobs?: boolean | undefined;
  /** Also report this many likeliest tokens at each place, 0 to 20; implies `logprobs`. Defaults to 0. */
  topLogprobs?: number | undefined;
  /** 0 to 2^53-1; the same seed gives the same answer. Defaults to a random one, told in the result. */
  seed?: number | undefined;
  /** The answer ends before the first of these strings. Defaults to none. */
  stop?: string | readonly string[] | undefined;
  /** Keep the stop string in the text. Defaults to false. */
  includeStopString?: boolean | undefined;
  /** Token ids that end the answer, besides the model's own. Defaults to none. */
  stopTokenIds?: readonly number[] | undefined;
  /** Do not end at the model's own stop tokens; needs `maxNewTokens`. Defaults to false. */
  ignoreEos?: boolean | undefined;
}

/** Every generation option with a value; `undefined` only where the run decides. */
export interface GenerationSettings {
  /** `undefined`: what is left of the context. */
  maxNewTokens: number | undefined;
  minNewTokens: number;
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
  repetitionPenalty: number;
  presencePenalty: number;
  frequencyPenalty: number;
  logitBias: Record<number, number>;
  logprobs: boolean;
  topLogprobs: number;
  /** `undefined`: drawn at random for each call. */
  seed: number | undefined;
  stop: readonly string[];
  includeStopString: boolean;
  stopTokenIds: readonly number[];
  ignoreEos: boolean;
}

export const GENERATION_DEFAULTS: GenerationSettings = {
  maxNewTokens: undefined,
  minNewTokens: 0,
  temperature: 0,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  presencePenalty: 0,
  frequencyPenalty: 0,
  logitBias: {},
  logprobs: false,
  topLogprobs: 0,
  seed: undefined,
  stop: [],
  includeStopString: false,
  stopTokenIds: [],
  ignoreEos: false,
};

const stopString = z.string().min(1).describe("a string that is not empty");
const biases = z
  .record(z.string().regex(/^\d+$/), numberIn(-100, 100))
  .describe("an object of token id → bias from -100 to 100");

/** Fields of the schema; pipelines add their own and make it strict. */
export const generationOptionFields = {
  maxNewTokens: wholeNumber(0).optional(),
  minNewTokens: wholeNumber(0).optional(),
  temperature: numberIn(0, 2).optional(),
  topK: wholeNumber(0, undefined, " (0 = no limit)").optional(),
  topP: z.number().gt(0).max(1).describe("a number above 0 and up to 1").optional(),
  minP: z.number().min(0).lt(1).describe("a number from 0 to below 1").optional(),
  repetitionPenalty: z.number().gt(0).describe("a number above 0").optional(),
  presencePenalty: numberIn(-2, 2).optional(),
  frequencyPenalty: numberIn(-2, 2).optional(),
  logitBias: biases.optional(),
  logprobs: flag.optional(),
  topLogprobs: wholeNumber(0, 20).optional(),
  seed: wholeNumber(0).optional(),
  stop: z
    .union([stopString, z.array(stopString)])
    .describe("a string that is not empty, or an array of such strings")
    .optional(),
  includeStopString: flag.optional(),
  stopTokenIds: z.array(wholeNumber(0)).optional(),
  ignoreEos: flag.optional(),
};

/** One layer of generation options, checked. */
export type GenerationLayer = OptionLayer<GenerationSettings>;

const generationSchema = z.strictObject(generationOptionFields);

/** Brings options into the form of {@link GenerationSettings}; the values are already checked. */
export function generationLayer(source: GenerationLayer["source"], options: GenerationOptions): GenerationLayer {
  const { stop, ...rest } = options;
  const values: GenerationLayer["values"] = { ...rest };
  if (stop !== undefined) values.stop = typeof stop === "string" ? [stop] : stop;
  if (options.topLogprobs !== undefined && options.topLogprobs > 0 && options.logprobs === undefined)
    values.logprobs = true;
  return { source, values };
}

/** Merged settings, and what a user may not expect about them. */
export interface MergedGeneration extends MergedOptions<GenerationSettings> {
  notes: string[];
}

/**
 * Merges the layers (strongest first) and checks what options say about each other.
 *
 * @throws OptionError where two options contradict each other
 */
export function mergeGeneration(layers: readonly GenerationLayer[]): MergedGeneration {
  const merged = mergeOptions(layers, GENERATION_DEFAULTS);
  const { values, sources } = merged;
  const notes: string[] = [];
  const { maxNewTokens } = values;
  if (maxNewTokens !== undefined && values.minNewTokens > maxNewTokens) {
    if (sources.minNewTokens !== "call" && sources.minNewTokens !== "chat") values.minNewTokens = maxNewTokens;
    else throw conflict("minNewTokens", values.minNewTokens, `at most maxNewTokens (${maxNewTokens})`);
  }
  if (values.ignoreEos && maxNewTokens === undefined) {
    throw conflict("ignoreEos", true, "used together with maxNewTokens, as the answer would not end by itself");
  }
  if (!values.logprobs && values.topLogprobs > 0) {
    throw conflict("topLogprobs", values.topLogprobs, "0 where logprobs is false");
  }
  if (values.temperature === 0) {
    const idle = (["topK", "topP", "minP", "seed"] as const).filter((name) => sources[name] !== "default");
    if (idle.length > 0) notes.push(`${idle.join(", ")}: no effect, the answer is greedy (temperature 0).`);
  }
  if (values.includeStopString && values.stop.length === 0) notes.push("includeStopString: no effect without stop.");
  return { ...merged, notes };
}

function conflict(path: string, received: unknown, expected: string): OptionError {
  return new OptionError(`${path} must be ${expected}, received ${String(received)}.`, { path, expected, received });
}

/** Names in `generation_config.json` → the SDK's. */
const CONFIG_NAMES = {
  max_new_tokens: "maxNewTokens",
  min_new_tokens: "minNewTokens",
  temperature: "temperature",
  top_k: "topK",
  top_p: "topP",
  min_p: "minP",
  repetition_penalty: "repetitionPenalty",
} as const;

/**
 * Reads what a model's `generation_config.json` says. Its temperature counts only where it asks for sampling
 * (`do_sample: true`); values that are out of range are left out with a note.
 */
export function layerOfGenerationConfig(config: Record<string, unknown>): { layer: GenerationLayer; notes: string[] } {
  const options: GenerationOptions = {};
  const notes: string[] = [];
  for (const [theirs, ours] of Object.entries(CONFIG_NAMES)) {
    const value = config[theirs];
    if (value === undefined || value === null) continue;
    if (ours === "temperature" && config["do_sample"] !== true) {
      notes.push(
        `temperature ${showValue(value)} of generation_config.json: no effect, it does not ask for sampling (do_sample).`,
      );
      continue;
    }
    try {
      Object.assign(options, parseOptions(generationSchema, { [ours]: value }));
    } catch (error) {
      notes.push(`${theirs} of generation_config.json is left out: ${(error as Error).message}`);
    }
  }
  // Asking for sampling without a temperature means the plain distribution.
  if (config["do_sample"] === true) options.temperature ??= 1;
  return { layer: generationLayer("generation_config.json", options), notes };
}

/** A seed for a call that names none. */
export function randomSeed(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0]!;
}
