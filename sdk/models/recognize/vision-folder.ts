import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { ModelError, UnsupportedError } from "../../core/errors.js";
import { startsWith } from "../files/file-check.js";
import { readJsonObject } from "../files/json-file.js";
import { pointedFolder } from "./pointed-folder.js";

/** What kind of vision model a folder holds: graphs, or a checkpoint to convert (Janus only). */
export interface VisionFolder {
  format: "openvino" | "safetensors";
  folder: string;
}

const WANTED =
  "a vision-language model: OpenVINO IR (openvino_language_model.xml) or a Janus checkpoint (config.json, model.safetensors)";

/** Files that only other kinds of models have. */
const OTHER_KINDS: [pattern: RegExp, kind: string][] = [
  [/^model_index\.json$/, "a diffusion model"],
  [/^openvino_(encoder|decoder)_model\.(xml|bin)$/, "an encoder-decoder model (such as Whisper)"],
  [/^openvino_model\.(xml|bin)$/, "a language model without vision, in OpenVINO IR"],
  [/\.gguf$/i, "a GGUF model"],
];

/** Any of them shows what was meant; what is missing is told later. */
const GRAPH = /^openvino_(language|text_embeddings|lm_head|vision_embeddings\w*|gen_\w+)_model\.(xml|bin)$/;

/**
 * Finds out what kind of vision model a path leads to. A file stands for its folder.
 *
 * @throws OptionError if the argument cannot be a path
 * @throws ModelError if there is nothing, or another kind of model, which the message names
 * @throws UnsupportedError for hub ids and for checkpoints that cannot be converted
 */
export async function findVisionFolder(model: unknown): Promise<VisionFolder> {
  return kindOf(await pointedFolder(model, WANTED, refuseFile));
}

async function refuseFile(path: string): Promise<void> {
  if (await startsWith(path, "GGUF")) throw new ModelError(`${path} is a GGUF model, not ${WANTED}.`, { file: path });
  if (!/\.(xml|bin|safetensors|json)$/i.test(basename(path))) {
    throw new ModelError(`${path} is no model this SDK can load: pass the folder of ${WANTED}.`, { file: path });
  }
}

async function kindOf(folder: string): Promise<VisionFolder> {
  const names = await readdir(folder).catch((cause: unknown) => {
    throw new ModelError(`The model folder ${folder} cannot be read.`, { file: folder, cause });
  });
  if (names.some((name) => GRAPH.test(name))) return { format: "openvino", folder };
  const other = OTHER_KINDS.flatMap(([pattern, kind]) => {
    const name = names.find((candidate) => pattern.test(candidate));
    return name === undefined ? [] : [{ name, kind }];
  })[0];
  if (other) throw new ModelError(`${folder} holds ${other.kind} (${other.name}), not ${WANTED}.`, { file: folder });
  const config = (await readJsonObject(join(folder, "config.json"))) ?? {};
  if (isJanus(config)) return { format: "safetensors", folder };
  const type = config["model_type"];
  const isCheckpoint = names.some((name) => /\.safetensors(\.index\.json)?$|^pytorch_model.*\.bin$|\.pth?$/.test(name));
  if (typeof type === "string") throw otherCheckpoint(folder, type, "vision_config" in config);
  if (isCheckpoint) {
    throw new ModelError(
      `The checkpoint ${folder} has no config.json that tells what it is. Fetch the file from the same repository.`,
      { file: join(folder, "config.json") },
    );
  }
  const content =
    names.length === 0 ? "It is empty." : `It holds: ${names.slice(0, 8).join(", ")}${names.length > 8 ? ", …" : ""}.`;
  throw new ModelError(`${folder} does not hold ${WANTED}. ${content}`, { file: folder });
}

/** Whether a `config.json` is one of Janus's, in transformers' layout or in the original one. */
export function isJanus(config: Record<string, unknown>): boolean {
  return config["model_type"] === "janus" || config["model_type"] === "multi_modality";
}

function otherCheckpoint(folder: string, type: string, hasVision: boolean): Error {
  if (!hasVision) {
    const file = join(folder, "config.json");
    return new ModelError(`${folder} holds a model of the kind "${type}" (config.json), not ${WANTED}.`, { file });
  }
  return new UnsupportedError(
    `${folder} is a checkpoint of the kind "${type}", which cannot be converted here (Janus can). ` +
      "Export it with optimum-intel (optimum-cli export openvino --model … --task image-text-to-text) and pass that folder.",
    { subject: `${type} checkpoint` },
  );
}
