import { readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ModelError, UnsupportedError } from "../../core/errors.js";
import { problemOf } from "../files/file-check.js";
import { readJsonObject } from "../files/json-file.js";
import { missingModel } from "./missing-model.js";
import { modelPath } from "../files/model-path.js";
import type { Checkpoint } from "../convert/models/common/architecture.js";
import { ARCHITECTURES, architectureOfType } from "../convert/models/architectures.js";

const WANTED =
  "a checkpoint: a Hugging Face folder (config.json and model.safetensors) or a CTranslate2 folder of Whisper (model.bin)";

/**
 * Finds out what kind of checkpoint a path leads to. A file stands for its folder.
 *
 * @throws OptionError if the argument cannot be a path
 * @throws ModelError if there is nothing, or nothing to be converted
 * @throws UnsupportedError for hub ids and for checkpoints that cannot be converted
 */
export async function findCheckpoint(model: unknown): Promise<Checkpoint> {
  const path = modelPath(model);
  const found = await stat(path).catch(() => undefined);
  if (!found) throw await missingModel(String(model), path, WANTED);
  if (found.isFile()) {
    const problem = await problemOf(path);
    if (problem !== undefined) throw new ModelError(`The model file ${path} is ${problem}.`, { file: path });
  } else if (!found.isDirectory()) {
    throw new ModelError(`${path} is neither a file nor a folder.`, { file: path });
  }
  return checkpointIn(found.isFile() ? dirname(path) : path);
}

async function checkpointIn(folder: string): Promise<Checkpoint> {
  const names = await readdir(folder).catch((cause: unknown) => {
    throw new ModelError(`The model folder ${folder} cannot be read.`, { file: folder, cause });
  });
  const has = (pattern: RegExp): string | undefined => names.find((name) => pattern.test(name));
  if (has(/^openvino_.*model\.(xml|bin)$/) !== undefined) {
    throw new ModelError(`${folder} is OpenVINO IR already. Pass the checkpoint it was made from.`, { file: folder });
  }
  const file = join(folder, "config.json");
  const type = names.includes("config.json") ? (await readJsonObject(file))?.["model_type"] : undefined;
  const architecture = architectureOfType(type);
  // CTranslate2's configuration has no model_type; a Whisper folder may hold both.
  if (names.includes("model.bin") && (architecture === undefined || architecture.name === "whisper")) {
    return { architecture: "whisper", format: "ctranslate2", folder };
  }
  const gguf = has(/\.gguf$/i);
  if (gguf !== undefined) {
    throw new UnsupportedError(
      `${join(folder, gguf)} is a GGUF model, which is loaded as it is: it needs no conversion.`,
      {
        subject: "GGUF conversion",
      },
    );
  }
  if (has(/\.safetensors(\.index\.json)?$/) !== undefined || architecture) {
    if (architecture) return { architecture: architecture.name, format: "safetensors", folder };
    if (names.includes("config.json")) throw unknownKind(folder, type);
    throw new ModelError(
      `The checkpoint ${folder} has no config.json that tells what it is. Fetch the file from the same repository.`,
      {
        file,
      },
    );
  }
  const pickled = has(/\.(pt|pth|ckpt)$|^pytorch_model.*\.bin$/);
  if (pickled !== undefined) throw pyTorch(join(folder, pickled));
  const content =
    names.length === 0 ? "It is empty." : `It holds: ${names.slice(0, 8).join(", ")}${names.length > 8 ? ", …" : ""}.`;
  throw new ModelError(`${folder} does not hold ${WANTED}. ${content}`, { file: folder });
}

/** Names what can be converted, where something else is asked for. */
export function unknownKind(folder: string, type: unknown): UnsupportedError {
  const known = ARCHITECTURES.flatMap(({ modelTypes }) => modelTypes).join(", ");
  const what =
    typeof type === "string"
      ? `a checkpoint of the kind "${type}"`
      : "a checkpoint whose config.json tells no model_type";
  return new UnsupportedError(
    `${folder} is ${what}. Checkpoints of these kinds can be converted: ${known}. ` +
      "Export others with optimum-intel (optimum-cli export openvino) and pass the folder with openvino_model.xml.",
    { subject: typeof type === "string" ? `conversion of ${type}` : "checkpoint conversion" },
  );
}

function pyTorch(path: string): UnsupportedError {
  return new UnsupportedError(
    `${path} holds PyTorch weights, which are not read: they may run any program when loaded. ` +
      "Pass the safetensors checkpoint of the same model.",
    { subject: "PyTorch weights" },
  );
}
