import { join } from "node:path";
import { ModelError, OptionError, UnsupportedError } from "../core/errors.js";
import { storedFormat, type WeightsOption } from "../core/weight-options.js";
import { cachedConversion } from "./convert/conversion-cache.js";
import type { Checkpoint } from "./convert/models/common/architecture.js";
import type { ConversionHooks } from "./convert/run/run-conversion.js";
import { problemOf } from "./files/file-check.js";
import { readGguf, type GgufFile } from "./gguf/gguf-file.js";
import { ggufInFolder } from "./gguf/gguf-folder.js";
import { recognize, sightingFor, type Recognized } from "./recognize/recognize.js";

/** The files of a language model, found and checked. Paths are absolute; links are left for the system to follow. */
export type ModelSource =
  | {
      kind: "ir";
      /** The folder given, or that of the conversion. */
      path: string;
      /** The checkpoint given, where it was converted. */
      checkpoint?: string;
      xml: string;
      bin: string;
    }
  | {
      kind: "gguf";
      /** The file or folder given. */
      path: string;
      /** Its header: metadata, tensors, and all files in order. */
      gguf: GgufFile;
    };

/** How a checkpoint is to be converted. */
export interface CheckpointOptions extends ConversionHooks {
  /** Defaults to `file`. */
  weights?: WeightsOption | undefined;
  /** Of `int4`. */
  groupSize?: number | undefined;
  /** Keeps conversions; empty = a temporary folder, removed when the process ends. */
  cacheFolder: string;
}

const WANTED = "a language model: OpenVINO IR (openvino_model.xml), a safetensors checkpoint or a .gguf file";

/**
 * Finds the files of a language model: a folder as optimum-intel writes it, a `.gguf` file (whole, or any shard of a split
 * one), a folder with exactly one GGUF model, or a Hugging Face folder with safetensors, which is converted the first time.
 *
 * @param checkpoints - how; without it a checkpoint is an error
 * @throws OptionError if the argument cannot be a path, or for weights that the model cannot have
 * @throws ModelError naming everything that is missing, in one message
 * @throws UnsupportedError for hub ids and for checkpoints that cannot be converted
 * @throws the signal's reason
 */
export async function resolveModel(model: unknown, checkpoints?: CheckpointOptions): Promise<ModelSource> {
  const recognized = await recognize(model, WANTED);
  const { format, checkpoint } = sightingFor(["LLMPipeline"], recognized, WANTED);
  if (checkpoint) return convertedModel(checkpoint, checkpoints);
  const source = format === "gguf" ? await ggufSource(recognized) : await irFolder(recognized.folder);
  if (checkpoints) refuseFormats(source, checkpoints);
  return source;
}

async function ggufSource({ path, folder, names }: Recognized): Promise<ModelSource> {
  // A file that was given stands alone here, whatever lies beside it.
  const file = path === folder ? ggufInFolder(folder, names) : path;
  const problem = await problemOf(file);
  if (problem !== undefined) throw new ModelError(`The model file ${file} is ${problem}.`, { file });
  return { kind: "gguf", path, gguf: await readGguf(file) };
}

async function irFolder(path: string): Promise<ModelSource & { kind: "ir" }> {
  const needed = ["openvino_model.xml", "openvino_model.bin", "config.json", "tokenizer.json"];
  const problems: { file: string; problem: string }[] = [];
  for (const file of needed) {
    const problem = await problemOf(join(path, file));
    if (problem) problems.push({ file, problem });
  }
  if (problems.length > 0) {
    const list = problems.map(({ file, problem }) => `${file} (${problem})`).join(", ");
    const first = problems[0]!.file;
    throw new ModelError(
      `The model folder ${path} is not complete: ${list}. Copy the whole folder as optimum-intel wrote it, links included.`,
      { file: join(path, first) },
    );
  }
  return { kind: "ir", path, xml: join(path, "openvino_model.xml"), bin: join(path, "openvino_model.bin") };
}

async function convertedModel(checkpoint: Checkpoint, options: CheckpointOptions | undefined): Promise<ModelSource> {
  const { folder } = checkpoint;
  if (!options) {
    throw new UnsupportedError(
      `${folder} is a checkpoint, which must be converted first (pergola convert, or LLMPipeline.load).`,
      {
        subject: "checkpoint without conversion",
      },
    );
  }
  const { weights, groupSize } = options;
  const converted = await cachedConversion({ checkpoint, plan: { format: storedFormat(weights), groupSize } }, options);
  const source = await irFolder(converted);
  return { ...source, checkpoint: folder };
}

/** IR and GGUF have the weights that they have; only 8 bits can be made of them, and not here. */
function refuseFormats({ path, kind }: ModelSource, { weights, groupSize }: CheckpointOptions): void {
  const what = kind === "gguf" ? "a GGUF model" : "OpenVINO IR";
  const remedy = "To choose how weights are stored, pass the checkpoint it was made from (safetensors).";
  if (weights === "int4" || weights === "f16") {
    const why = weights === "int4" ? "rounded to 4 bits" : "turned into another type";
    throw new OptionError(
      `weights must be "file" or "int8" for ${path}: it is ${what}, whose weights are not ${why}. ${remedy}`,
      {
        ...{ path: "weights", expected: `"file" or "int8", for ${what}`, received: weights },
      },
    );
  }
  if (groupSize !== undefined) {
    throw new OptionError(`groupSize must be left out for ${path}: it is ${what}. ${remedy}`, {
      ...{ path: "groupSize", expected: `nothing, for ${what}`, received: groupSize },
    });
  }
}
