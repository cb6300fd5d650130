import { InvalidArgumentError, Option, type Command } from "commander";
import type { GenerationOptions, GroupSize, LoadOptions, WeightsOption } from "../index.js";
import { UsageError } from "./exit-codes.js";

/** Flags that mean an SDK option: path of the option → flag. Messages of the SDK are translated with it. */
const FLAGS = new Map([
  ["maxNewTokens", "--max-new-tokens"],
  ["temperature", "--temperature"],
  ["topP", "--top-p"],
  ["topK", "--top-k"],
  ["minP", "--min-p"],
  ["repetitionPenalty", "--repetition-penalty"],
  ["seed", "--seed"],
  ["stop", "--stop"],
  ["device", "--device"],
  ["weights", "--weights"],
  ["attention", "--attention"],
  ["kvCache.precision", "--kv-cache-precision"],
  ["kvCache.tokens", "--kv-cache-tokens"],
  ["kvCache.bytes", "--kv-cache-bytes"],
  ["properties", "--property"],
  ["language", "--language"],
  ["task", "--task"],
  ["timestamps", "--timestamps"],
  ["mode", "--mode"],
  ["batchSize", "--batch-size"],
  ["beamSize", "--beam-size"],
  ["prompt", "--prompt"],
  ["hotwords", "--hotwords"],
  ["range", "--range"],
  ["maxLineLength", "--max-line-length"],
  ["maxLines", "--max-lines"],
  ["highlightWords", "--highlight-words"],
  ["n", "--n"],
  ["guidance", "--guidance"],
  ["previewEvery", "--previews"],
  ["groupSize", "--group-size"],
  ["out", "--out"],
  ["visionDevice", "--vision-device"],
]);

/** The flag for an option path, if there is one. */
export function flagOf(path: string): string | undefined {
  return FLAGS.get(path) ?? FLAGS.get(path.split(/[.[]/)[0]!);
}

/** Reads a number; its range is the SDK's to check. */
export function parseNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new InvalidArgumentError("It must be a number.");
  return value;
}

/** Reads a whole number that is at least 1. */
export function parseCount(text: string): number {
  const value = parseNumber(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError("It must be a whole number of at least 1.");
  return value;
}

/** Adds to a list: for flags that may be given more than once. */
export function collect(text: string, previous: string[] | undefined): string[] {
  return [...(previous ?? []), text];
}

/** What the flags of {@link addDeviceFlags} give. */
export interface DeviceFlags {
  model: string;
  device?: string;
  property?: string[];
  cache: boolean;
  warmUp: boolean;
}

/**
 * Flags about loading any model: which, and where it runs.
 *
 * @param needsModel - false where the model may be told in another way
 */
export function addDeviceFlags(command: Command, modelHelp: string, needsModel = true): Command {
  return command
    .addOption(new Option("-m, --model <model>", modelHelp).makeOptionMandatory(needsModel))
    .option("-d, --device <device>", "CPU, GPU, GPU.1, NPU, AUTO, HETERO:GPU,CPU")
    .option("--property <name=value>", "OpenVINO property; may be repeated", collect)
    .option("--no-cache", "do not keep or use compiled models on disk")
    .option("--no-warm-up", "do not run a few steps at load");
}

/** The load options that all pipelines share. Flags not given stay absent, so that the SDK's defaults hold. */
export function toDeviceOptions(flags: DeviceFlags): Pick<LoadOptions, "device" | "properties" | "cache" | "warmUp"> {
  return {
    ...(flags.device !== undefined && { device: flags.device }),
    ...(flags.property && { properties: parseProperties(flags.property) }),
    ...(!flags.cache && { cache: false }),
    ...(!flags.warmUp && { warmUp: false }),
  };
}

/** What the flags of {@link addKvFlags} give. */
export interface KvFlags {
  attention?: "auto" | "paged" | "stateful";
  kvCachePrecision?: "f32" | "f16" | "bf16" | "u8";
  kvCacheTokens?: number;
  kvCacheBytes?: number;
}

/** What the flags of {@link addWeightFlags} give. */
export interface WeightFlags {
  weights?: WeightsOption;
  // Which numbers are possible is the SDK's to check.
  groupSize?: GroupSize;
}

/** The flag about the form of weights. What a model's files allow is the SDK's to say. */
export function addWeightsFlag(command: Command): Command {
  return command.addOption(
    new Option("--weights <form>", "weights as the files have them, or another form (of a checkpoint)").choices([
      ...["file", "f16", "int8", "int4"],
    ]),
  );
}

/** Flags about the form of weights. */
export function addWeightFlags(command: Command): Command {
  return addWeightsFlag(command).option(
    "--group-size <n>",
    "with int4: weights that share a scale: 32, 64 (default), 128, or -1 for a row",
    parseNumber,
  );
}

/** The SDK's options for them. Flags not given stay absent. */
export function toWeightOptions(flags: WeightFlags): Pick<LoadOptions, "weights" | "groupSize"> {
  return {
    ...(flags.weights && { weights: flags.weights }),
    ...(flags.groupSize !== undefined && { groupSize: flags.groupSize }),
  };
}

/** What the flags of {@link addLoadFlags} give. */
export interface LoadFlags extends DeviceFlags, WeightFlags, KvFlags {}

/** What a language model can be loaded from. */
export const LANGUAGE_MODEL_HELP = "model folder (OpenVINO IR or safetensors) or .gguf file";

/** Flags about loading a model whose main part is a language model. */
export function addLoadFlags(command: Command, modelHelp: string, needsModel = true): Command {
  return addKvFlags(addWeightFlags(addDeviceFlags(command, modelHelp, needsModel)));
}

/** Flags about what a language model remembers. */
export function addKvFlags(command: Command): Command {
  return command
    .addOption(new Option("--attention <kind>", "how the KV cache is kept").choices(["auto", "paged", "stateful"]))
    .addOption(
      new Option("--kv-cache-precision <type>", "how keys and values are stored").choices(["f32", "f16", "bf16", "u8"]),
    )
    .option("--kv-cache-tokens <n>", "most tokens in the KV cache", parseNumber)
    .option("--kv-cache-bytes <n>", "most bytes of the KV cache", parseNumber);
}

function parseProperties(pairs: string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw new UsageError(`--property takes NAME=VALUE, received ${JSON.stringify(pair)}.`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

/** The SDK's load options for the flags of {@link addLoadFlags}. */
export function toLoadOptions(flags: LoadFlags): LoadOptions {
  return { ...toDeviceOptions(flags), ...toKvOptions(flags), ...toWeightOptions(flags) };
}

/** The load options about what a language model remembers. */
export function toKvOptions(flags: KvFlags): Pick<LoadOptions, "attention" | "kvCache"> {
  const kvCache = {
    ...(flags.kvCachePrecision && { precision: flags.kvCachePrecision }),
    ...(flags.kvCacheTokens !== undefined && { tokens: flags.kvCacheTokens }),
    ...(flags.kvCacheBytes !== undefined && { bytes: flags.kvCacheBytes }),
  };
  return {
    ...(flags.attention && { attention: flags.attention }),
    ...(Object.keys(kvCache).length > 0 && { kvCache }),
  };
}

/** What the flags of {@link addGenerationFlags} give. */
export interface GenerationFlags {
  maxNewTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  minP?: number;
  repetitionPenalty?: number;
  seed?: number;
  stop?: string[];
}

/** Flags about how an answer is made. */
export function addGenerationFlags(command: Command): Command {
  return command
    .option("-n, --max-new-tokens <n>", "most tokens of an answer", parseNumber)
    .option("-t, --temperature <t>", "0 is greedy", parseNumber)
    .option("--top-p <p>", "sample among the likeliest tokens with this total probability", parseNumber)
    .option("--top-k <k>", "sample among this many likeliest tokens (0 = no limit)", parseNumber)
    .option("--min-p <p>", "leave out tokens below this share of the likeliest one", parseNumber)
    .option("--repetition-penalty <x>", "above 1 makes repetition less likely", parseNumber)
    .option("--seed <n>", "the same seed gives the same answer", parseNumber)
    .option("--stop <text>", "end the answer before this text; may be repeated", collect);
}

const GENERATION_FLAGS = [
  ...(["maxNewTokens", "temperature", "topP", "topK", "minP", "repetitionPenalty", "seed", "stop"] as const),
];

/** The SDK's generation options for the flags. */
export function toGenerationOptions(flags: GenerationFlags): GenerationOptions {
  return Object.fromEntries(
    GENERATION_FLAGS.flatMap((name) => (flags[name] === undefined ? [] : [[name, flags[name]]])),
  );
}
