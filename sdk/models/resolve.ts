import { readdir, stat } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { ModelError, OptionError, UnsupportedError } from "../core/errors.js";
import { storedFormat, type WeightsOption } from "../core/weight-options.js";
import { cachedConversion } from "./convert/conversion-cache.js";
import { findCheckpoint } from "./recognize/find-checkpoint.js";
import { LANGUAGE_MODEL } from "./convert/models/llama/llama-checkpoint.js";
import type { ConversionHooks } from "./convert/run/run-conversion.js";
import { problemOf, startsWith } from "./files/file-check.js";
import { readGguf, type GgufFile } from "./gguf/gguf-file.js";
import { ggufInFolder } from "./recognize/gguf-folder.js";
import { missingModel } from "./recognize/missing-model.js";
import { modelPath } from "./files/model-path.js";

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

/** Files of other kinds of models, by a file that only they have. */
const OTHER_KINDS: [file: string, kind: string][] = [
  ["openvino_language_model.xml", "a vision-language model"],
  ["openvino_encoder_model.xml", "an encoder-decoder model (such as Whisper)"],
  ["openvino_gen_decoder_model.xml", "an image generation model"],
  ["model_index.json", "a diffusion model"],
];

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
  const path = modelPath(model);
  const found = await stat(path).catch(() => undefined);
  if (!found)
    throw await missingModel(String(model), path, "an OpenVINO model, a safetensors checkpoint or a .gguf file");
  const source = found.isDirectory() ? await resolveFolder(path) : found.isFile() ? await resolveFile(path) : undefined;
  if (source === "checkpoint") return convertedModel(path, checkpoints);
  if (source) {
    if (checkpoints) refuseFormats(source, checkpoints);
    return source;
  }
  throw new ModelError(`${path} is neither a file nor a folder.`, { file: path });
}

async function readGgufFile(path: string): Promise<GgufFile> {
  const problem = await problemOf(path);
  if (problem !== undefined) throw new ModelError(`The model file ${path} is ${problem}.`, { file: path });
  return readGguf(path);
}

async function resolveFile(path: string): Promise<ModelSource | "checkpoint"> {
  const problem = await problemOf(path);
  if (problem !== undefined) throw new ModelError(`The model file ${path} is ${problem}.`, { file: path });
  const extension = extname(path).toLowerCase();
  // A file of the Hugging Face cache has no ending, so the content counts as well.
  if (extension === ".gguf" || (await startsWith(path, "GGUF")))
    return { kind: "gguf", path, gguf: await readGguf(path) };
  if (basename(path) === "openvino_model.xml" || basename(path) === "openvino_model.bin")
    return resolveFolder(dirname(path));
  if (extension === ".safetensors") return "checkpoint";
  throw new ModelError(`${path} is no model this SDK can load: pass a model folder or a .gguf file.`, { file: path });
}

async function resolveFolder(path: string): Promise<ModelSource | "checkpoint"> {
  const names = await readdir(path).catch((cause: unknown) => {
    throw new ModelError(`The model folder ${path} cannot be read.`, { file: path, cause });
  });
  // The weights alone also show what was meant: a folder whose .xml got lost.
  if (names.includes("openvino_model.xml") || names.includes("openvino_model.bin")) return irFolder(path);
  const gguf = ggufInFolder(path, names);
  if (gguf) return { kind: "gguf", path, gguf: await readGgufFile(gguf) };
  const other = OTHER_KINDS.find(([file]) => names.includes(file));
  if (other) {
    throw new ModelError(`${path} holds ${other[1]} (${other[0]}), not a language model (openvino_model.xml).`, {
      file: path,
    });
  }
  if (names.some((name) => /\.(safetensors|pt|pth)$|\.safetensors\.index\.json$|^(pytorch_)?model.*\.bin$/.test(name)))
    return "checkpoint";
  throw new ModelError(
    `${path} holds no model: neither openvino_model.xml and openvino_model.bin, nor model.safetensors, nor a .gguf file. ` +
      (names.length === 0
        ? "It is empty."
        : `It holds: ${names.slice(0, 8).join(", ")}${names.length > 8 ? ", …" : ""}.`),
    { file: path },
  );
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

/** Kinds of checkpoints that other pipelines load. */
const OTHER_CHECKPOINTS: Record<string, string> = {
  whisper: "a Whisper model: load it with WhisperPipeline",
  janus: "a Janus model: load it with VLMPipeline (pictures to text) or ImagePipeline (text to pictures)",
};

async function convertedModel(path: string, options: CheckpointOptions | undefined): Promise<ModelSource> {
  const checkpoint = await findCheckpoint(path);
  const { architecture, folder } = checkpoint;
  if (architecture !== LANGUAGE_MODEL.name) {
    throw new ModelError(
      `${folder} holds ${OTHER_CHECKPOINTS[architecture] ?? `a model of the kind ${architecture}`}.`,
      {
        file: folder,
      },
    );
  }
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
