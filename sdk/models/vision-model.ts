import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { throwIfAborted } from "../core/abort.js";
import { ModelError } from "../core/errors.js";
import type { NativeGraphFiles } from "../core/native-types.js";
import { storedFormat, type WeightsOption } from "../core/weight-options.js";
import { cachedConversion } from "./convert/conversion-cache.js";
import { JANUS } from "./convert/models/janus/janus-checkpoint.js";
import { problemOf } from "./files/file-check.js";
import { keyOfFiles } from "./files/file-key.js";
import { readJsonObject } from "./files/json-file.js";
import { contextLengthOf, eosTokenIdsOf } from "./model-folder.js";
import { refuseOtherWeights } from "./fixed-weights.js";
import { recognize, sightingFor } from "./recognize/recognize.js";

/** A vision-language or image model, found, checked and, where it was a checkpoint, converted. */
export interface VisionModelSource {
  /** What was given, as an absolute path. */
  path: string;
  /** Holds the graphs, the configuration files and the tokenizer. */
  folder: string;
  /** `model_type` of `config.json`; `"janus"` for both of Janus's layouts. */
  family: string;
  /** What the path given holds. */
  format: "openvino" | "safetensors";
  /** `config.json`; like the other three `{}` where there is no such file. */
  config: Record<string, unknown>;
  /** `generation_config.json`. */
  generationConfig: Record<string, unknown>;
  /** `preprocessor_config.json`. */
  preprocessorConfig: Record<string, unknown>;
  /** `processor_config.json`. */
  processorConfig: Record<string, unknown>;
  /** Tokens the language model was made for; 0 = not told. */
  contextLength: number;
  /** Tokens that end an answer, as the configuration names them (the tokenizer may know more). */
  eosTokenIds: number[];
  /** True if the folder has the graph, complete. @param name - without ending, for example `openvino_lm_head_model` */
  has(name: string): boolean;
  /** The files of a graph. @throws ModelError naming the file that is missing */
  graph(name: string): NativeGraphFiles;
}

export interface ResolveVisionOptions {
  /** How a checkpoint's matrices are stored. Defaults to `file`. */
  weights?: WeightsOption | undefined;
  /** Values that share a scale in `int4`. Defaults to 64. */
  groupSize?: number | undefined;
  /** Keeps conversions; empty = a temporary folder, removed when the process ends. */
  cacheFolder: string;
  /** Graphs that must be there, by name without ending. */
  needs?: readonly string[] | undefined;
  signal?: AbortSignal | undefined;
  /** Told how far a conversion is, from 0 to 1. */
  onProgress?: ((fraction: number) => void) | undefined;
}

const WANTED =
  "a vision-language model: OpenVINO IR (openvino_language_model.xml) or a Janus checkpoint (config.json, model.safetensors)";

/**
 * Finds the files of a vision-language or image model: a folder with OpenVINO IR (as optimum-intel, the OpenVINO notebooks
 * or `pergola convert` write it), or a Janus checkpoint (safetensors), which is converted the first time.
 *
 * @throws OptionError if the argument cannot be a path, or `weights` is asked for where nothing is converted
 * @throws ModelError naming what is missing, damaged, or does not fit together
 * @throws UnsupportedError for hub ids and for checkpoints that cannot be converted
 * @throws the signal's reason
 */
export async function resolveVisionModel(model: unknown, options: ResolveVisionOptions): Promise<VisionModelSource> {
  const { weights, groupSize, needs = [], signal } = options;
  throwIfAborted(signal);
  const recognized = await recognize(model, WANTED);
  const { checkpoint } = sightingFor(["VLMPipeline", "ImagePipeline"], recognized, WANTED);
  const format = checkpoint ? "safetensors" : "openvino";
  let { folder } = recognized;
  if (checkpoint) {
    folder = await cachedConversion({ checkpoint, plan: { format: storedFormat(weights), groupSize } }, options);
  } else {
    refuseOtherWeights(folder, weights, groupSize);
  }
  const problems = await requireParts(folder, needs, format);
  throwIfAborted(signal);
  const read = async (name: string): Promise<Record<string, unknown>> =>
    (await readJsonObject(join(folder, name))) ?? {};
  const [config, generationConfig] = [await read("config.json"), await read("generation_config.json")];
  const files = await graphFiles(folder, problems);
  return {
    ...{ path: recognized.path, folder, format, config, generationConfig },
    family: familyOf(config, join(folder, "config.json")),
    preprocessorConfig: await read("preprocessor_config.json"),
    processorConfig: await read("processor_config.json"),
    contextLength: contextLengthOf(config),
    eosTokenIds: eosTokenIdsOf(config, generationConfig),
    has: (name) => files.has(name),
    graph(name) {
      const found = files.get(name);
      if (found) return found;
      const lost = [`${name}.xml`, `${name}.bin`].find((file) => problems.has(file)) ?? `${name}.xml`;
      throw incomplete(folder, [{ file: lost, problem: problems.get(lost) ?? "missing" }], format);
    },
  };
}

function familyOf(config: Record<string, unknown>, file: string): string {
  const type = config["model_type"];
  if (JANUS.modelTypes.some((name) => name === type)) return JANUS.name;
  if (typeof type === "string" && type !== "") return type;
  throw new ModelError(`${file} does not tell the kind of model ("model_type"). Fetch the file again.`, { file });
}

/** What is wrong with the graphs of a folder, by file. @throws ModelError if something that is needed is not there */
async function requireParts(
  folder: string,
  needs: readonly string[],
  format: VisionModelSource["format"],
): Promise<Map<string, string>> {
  const problems = new Map<string, string>();
  for (const name of new Set([...(await graphNames(folder)), ...needs])) {
    for (const file of [`${name}.xml`, `${name}.bin`]) {
      const problem = await problemOf(join(folder, file));
      if (problem !== undefined) problems.set(file, problem);
    }
  }
  const needed = needs.flatMap((name) => [`${name}.xml`, `${name}.bin`]);
  const missing = needed.flatMap((file) => (problems.has(file) ? [{ file, problem: problems.get(file)! }] : []));
  for (const file of ["config.json", "tokenizer.json"]) {
    const problem = await problemOf(join(folder, file));
    if (problem !== undefined) missing.push({ file, problem });
  }
  if (missing.length > 0) throw incomplete(folder, missing, format);
  return problems;
}

function incomplete(
  folder: string,
  missing: { file: string; problem: string }[],
  format: VisionModelSource["format"],
): ModelError {
  const list = missing.map(({ file, problem }) => `${file} (${problem})`).join(", ");
  const remedy =
    format === "openvino"
      ? "Copy the whole folder as it was exported or converted, links included"
      : "Remove the folder, so that the checkpoint is converted anew";
  return new ModelError(`The model folder ${folder} is not complete: ${list}. ${remedy}.`, {
    file: join(folder, missing[0]!.file),
  });
}

/** Graphs of which the folder has at least one of the two files. */
async function graphNames(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => /^openvino_\w+\.(xml|bin)$/.test(name));
  return [...new Set(names.map((name) => name.slice(0, -".xml".length)))].sort();
}

async function graphFiles(
  folder: string,
  problems: ReadonlyMap<string, string>,
): Promise<Map<string, NativeGraphFiles>> {
  const files = new Map<string, NativeGraphFiles>();
  for (const name of await graphNames(folder)) {
    if (problems.has(`${name}.xml`) || problems.has(`${name}.bin`)) continue;
    const [xml, bin] = [join(folder, `${name}.xml`), join(folder, `${name}.bin`)];
    files.set(name, { xml, bin, modelKey: await keyOfFiles([xml, bin]) });
  }
  return files;
}
