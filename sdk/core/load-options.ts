import { z } from "zod";
import { OptionError } from "./errors.js";
import { callback, flag, signal, wholeNumber } from "./option-schemas.js";
import type { LoadProgress } from "./progress.js";
import { parseOptions } from "./validate.js";
import { groupSizeField, weightsField, type GroupSize, type WeightsOption } from "./weight-options.js";

/** Limits of the KV cache. With neither `bytes` nor `tokens` it is planned from free memory and grows as needed. */
export interface KvCacheOptions {
  /** Most bytes it may use; not together with `tokens`. */
  bytes?: number | undefined;
  /** Most tokens it may hold, over all requests; not together with `bytes`. */
  tokens?: number | undefined;
  /** How keys and values are stored. Defaults to what the engine finds best for the device. */
  precision?: "f32" | "f16" | "bf16" | "u8" | undefined;
}

/** Options of `load()` that all pipelines share. */
export interface CommonLoadOptions {
  /** `CPU`, `GPU`, `GPU.1`, `NPU`, `AUTO`, or a list: `AUTO:GPU,CPU`, `HETERO:GPU,CPU`. Defaults to `CPU`. */
  device?: string | undefined;
  /** OpenVINO properties, passed through: `{ NUM_STREAMS: 1, INFERENCE_NUM_THREADS: 4 }`. Defaults to none. */
  properties?: Record<string, string | number | boolean> | undefined;
  /**
   * Keeps compiled models on disk, so that loading again takes a fraction of the time: `true` for the user's cache folder
   * (`PERGOLA_CACHE` names another), a path, or `false`. Defaults to `true`.
   */
  cache?: boolean | string | undefined;
  /**
   * `file`: the weights as the model's files have them; a checkpoint is converted in half precision. `f16`, `int8`, `int4`: a checkpoint's
   * matrices are stored like that, which takes half or a quarter of the memory and time of `f16`; answers may differ. Of OpenVINO IR
   * and GGUF language models also `int8`: rounded while loading. What a model cannot do is an error. Defaults to `file`.
   */
  weights?: WeightsOption | undefined;
  /** Runs a few steps before `load()` resolves, so that the first call is as fast as later ones. Defaults to `true`. */
  warmUp?: boolean | undefined;
  /** Called while loading; an exception it throws ends the load. */
  onProgress?: ((progress: LoadProgress) => void) | undefined;
  /** Ends the load; it rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Options of `load()` that all pipelines with a language model share. */
export interface LoadOptions extends CommonLoadOptions {
  /** How attention keeps its past: in pages shared by all requests, or in the model's state. Defaults to `auto`: paged where the model allows it. */
  attention?: "auto" | "paged" | "stateful" | undefined;
  /** Of a checkpoint in `int4`: values that share a scale; -1 = a whole row. Defaults to 64. */
  groupSize?: GroupSize | undefined;
  kvCache?: KvCacheOptions | undefined;
  /** Reuses what is already computed for equal beginnings of prompts. Defaults to `true`. */
  prefixCaching?: boolean | undefined;
  /** Prompt tokens computed in one inference at most. Defaults to 512. */
  maxBatchTokens?: number | undefined;
  /** Requests in one inference at most; others wait. Defaults to 64. */
  maxBatchSequences?: number | undefined;
}

/** {@link CommonLoadOptions} with every default filled in. */
export interface ResolvedCommonOptions {
  device: string;
  properties: Record<string, string | number | boolean>;
  cache: boolean | string;
  warmUp: boolean;
}

/** Load options with every default filled in. */
export interface ResolvedLoadOptions extends ResolvedCommonOptions {
  attention: "auto" | "paged" | "stateful";
  /** What the engine does with the weights of its files. */
  weights: "file" | "int8";
  kvCache: { bytes?: number; tokens?: number; precision?: "f32" | "f16" | "bf16" | "u8" };
  prefixCaching: boolean;
  maxBatchTokens: number;
  maxBatchSequences: number;
}

export const COMMON_LOAD_DEFAULTS: ResolvedCommonOptions = { device: "CPU", properties: {}, cache: true, warmUp: true };

export const LOAD_DEFAULTS: ResolvedLoadOptions = {
  ...COMMON_LOAD_DEFAULTS,
  attention: "auto",
  weights: "file",
  kvCache: {},
  prefixCaching: true,
  maxBatchTokens: 512,
  maxBatchSequences: 64,
};

const propertyValue = z
  .union([z.string(), z.number(), z.boolean()])
  .describe("a string, a finite number or a boolean, as OpenVINO properties are");

/** Fields of the load schema of every pipeline. */
export const commonLoadFields = {
  device: z
    .string()
    .trim()
    .min(1)
    .describe("a device name such as CPU, GPU, GPU.1, NPU, AUTO or HETERO:GPU,CPU")
    .optional(),
  properties: z.record(z.string(), propertyValue).optional(),
  cache: z
    .union([z.boolean(), z.string().min(1)])
    .describe("true, false or the path of a folder")
    .optional(),
  weights: weightsField.optional(),
  warmUp: flag.optional(),
  onProgress: callback<(progress: LoadProgress) => void>().optional(),
  signal: signal.optional(),
};

/** The same with those of language models; pipelines add their own and make it strict. */
export const loadOptionFields = {
  ...commonLoadFields,
  attention: z.enum(["auto", "paged", "stateful"]).optional(),
  groupSize: groupSizeField.optional(),
  kvCache: z
    .strictObject({
      bytes: wholeNumber(1).optional(),
      tokens: wholeNumber(1).optional(),
      precision: z.enum(["f32", "f16", "bf16", "u8"]).optional(),
    })
    .optional(),
  prefixCaching: flag.optional(),
  maxBatchTokens: wholeNumber(1).optional(),
  maxBatchSequences: wholeNumber(1).optional(),
};

const loadOptionsSchema = z.strictObject(loadOptionFields);

/**
 * Checks load options.
 *
 * @param schema - the pipeline's own schema, made of {@link loadOptionFields} and its own fields
 * @throws OptionError
 */
export function parseLoadOptions<Options extends LoadOptions = LoadOptions>(
  value: unknown,
  schema: z.ZodType<Options> = loadOptionsSchema as z.ZodType<LoadOptions> as z.ZodType<Options>,
): Options {
  const options = parseOptions(schema, value === undefined ? {} : value);
  const { bytes, tokens } = options.kvCache ?? {};
  if (bytes !== undefined && tokens !== undefined) {
    throw new OptionError("kvCache takes bytes or tokens, not both: leave one of them out.", {
      path: "kvCache",
      expected: "bytes or tokens, not both",
      received: options.kvCache,
    });
  }
  return options;
}

/** Fills in the defaults. What becomes of a checkpoint's weights is the business of its conversion. */
export function resolveLoadOptions(
  options: Omit<LoadOptions, "weights" | "groupSize"> & { weights?: "file" | "int8" | undefined },
): ResolvedLoadOptions {
  const kvCache = Object.entries(options.kvCache ?? {}).filter(([, value]) => value !== undefined);
  return { ...withDefaults(options, LOAD_DEFAULTS), kvCache: Object.fromEntries(kvCache) };
}

/** What the engine is told of load options, whatever the model. */
export function engineOptions(options: Omit<ResolvedLoadOptions, "weights">) {
  const { device, properties, attention, kvCache, prefixCaching, maxBatchTokens, maxBatchSequences, warmUp } = options;
  return { device, properties, attention, kvCache, prefixCaching, maxBatchTokens, maxBatchSequences, warmUp };
}

/** What `explain()` tells where keys and values are in the model's state. @param reason - empty: they are not */
export function attentionNote(reason: string): string[] {
  return reason === "" ? [] : [`attention is stateful: ${reason}`];
}

/** Options with the default of each that is not set; what has no default is left out. */
export function withDefaults<Resolved extends object>(
  options: { [Key in keyof Resolved]?: unknown },
  defaults: Resolved,
): Resolved {
  const resolved = { ...defaults };
  for (const key of Object.keys(defaults) as (keyof Resolved)[]) {
    if (options[key] !== undefined) Object.assign(resolved, { [key]: options[key] });
  }
  return resolved;
}

/** Names of the options that are set. */
export function namesGiven(options: object): ReadonlySet<string> {
  return new Set(Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [name])));
}
