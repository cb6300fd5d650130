import { readdir, stat } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { ModelError, UnsupportedError } from "../core/errors.js";
import { problemOf, startsWith } from "./file-check.js";
import { readGguf, type GgufFile } from "./gguf-file.js";
import { ggufInFolder } from "./gguf-folder.js";
import { missingModel } from "./missing-model.js";
import { modelPath } from "./model-path.js";

/** The files of a language model, found and checked. Paths are absolute; links are left for the system to follow. */
export type ModelSource =
  | {
      kind: "ir";
      /** The folder given. */
      path: string;
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

/** Files of other kinds of models, by a file that only they have. */
const OTHER_KINDS: [file: string, kind: string][] = [
  ["openvino_language_model.xml", "a vision-language model"],
  ["openvino_encoder_model.xml", "an encoder-decoder model (such as Whisper)"],
  ["openvino_gen_decoder_model.xml", "an image generation model"],
  ["model_index.json", "a diffusion model"],
];

/**
 * Finds the files of a language model: a folder as optimum-intel writes it, a `.gguf` file (whole, or any shard of a split
 * one), or a folder with exactly one GGUF model.
 *
 * @throws OptionError if the argument cannot be a path
 * @throws ModelError naming everything that is missing, in one message
 * @throws UnsupportedError for hub ids and checkpoints, which this version does not convert
 */
export async function resolveModel(model: unknown): Promise<ModelSource> {
  const path = modelPath(model);
  const found = await stat(path).catch(() => undefined);
  if (!found) throw await missingModel(String(model), path, "an OpenVINO model or a .gguf file");
  if (found.isDirectory()) return resolveFolder(path);
  if (found.isFile()) return resolveFile(path);
  throw new ModelError(`${path} is neither a file nor a folder.`, { file: path });
}

async function resolveFile(path: string): Promise<ModelSource> {
  const problem = await problemOf(path);
  if (problem !== undefined) throw new ModelError(`The model file ${path} is ${problem}.`, { file: path });
  const extension = extname(path).toLowerCase();
  // A file of the Hugging Face cache has no ending, so the content counts as well.
  if (extension === ".gguf" || (await startsWith(path, "GGUF"))) return { kind: "gguf", path, gguf: await readGguf(path) };
  if (basename(path) === "openvino_model.xml" || basename(path) === "openvino_model.bin") return resolveFolder(dirname(path));
  if (extension === ".safetensors") throw checkpoint(path);
  throw new ModelError(`${path} is no model this SDK can load: pass a model folder or a .gguf file.`, { file: path });
}

async function resolveFolder(path: string): Promise<ModelSource> {
  const names = await readdir(path).catch((cause: unknown) => {
    throw new ModelError(`The model folder ${path} cannot be read.`, { file: path, cause });
  });
  // The weights alone also show what was meant: a folder whose .xml got lost.
  if (names.includes("openvino_model.xml") || names.includes("openvino_model.bin")) return irFolder(path);
  const gguf = ggufInFolder(path, names);
  if (gguf) return { ...(await resolveFile(gguf)), path };
  const other = OTHER_KINDS.find(([file]) => names.includes(file));
  if (other) {
    throw new ModelError(`${path} holds ${other[1]} (${other[0]}), not a language model (openvino_model.xml).`, { file: path });
  }
  if (names.some((name) => /\.(safetensors|pt|pth)$|^pytorch_model.*\.bin$/.test(name))) throw checkpoint(path);
  throw new ModelError(
    `${path} holds no model: neither openvino_model.xml and openvino_model.bin, nor a .gguf file. ` +
      (names.length === 0 ? "It is empty." : `It holds: ${names.slice(0, 8).join(", ")}${names.length > 8 ? ", …" : ""}.`),
    { file: path },
  );
}

async function irFolder(path: string): Promise<ModelSource> {
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

function checkpoint(path: string): UnsupportedError {
  return new UnsupportedError(
    `${path} is a checkpoint (safetensors or PyTorch weights). This version does not convert checkpoints: ` +
      "pass a folder that optimum-intel exported (openvino_model.xml), or a .gguf file.",
    { subject: "checkpoint conversion" },
  );
}
