import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { ModelError, UnsupportedError } from "../../core/errors.js";
import { problemOf, startsWith } from "../files/file-check.js";
import { readJsonObject } from "../files/json-file.js";
import { pointedFolder } from "./pointed-folder.js";

/** What kind of Whisper model a folder holds. */
export interface WhisperFolder {
  format: "openvino" | "ctranslate2" | "safetensors";
  folder: string;
}

const WANTED =
  "a Whisper model: OpenVINO IR (openvino_encoder_model.xml), a CTranslate2 folder (model.bin) or a Hugging Face checkpoint (model.safetensors)";

/** Files that only other kinds of models have. */
const OTHER_KINDS: [pattern: RegExp, kind: string][] = [
  [/^model_index\.json$/, "a diffusion model"],
  [/^openvino_language_model\.xml$/, "a vision-language model"],
  [/^openvino_gen_decoder_model\.xml$/, "an image generation model"],
  [/^openvino_model\.(xml|bin)$/, "a language model in OpenVINO IR"],
  [/\.gguf$/i, "a GGUF model"],
];

/**
 * Finds out what kind of Whisper model a path leads to. A file stands for its folder.
 *
 * @throws OptionError if the argument cannot be a path
 * @throws ModelError if there is nothing, or another kind of model, which the message names
 * @throws UnsupportedError for hub ids and for formats of Whisper that cannot be read
 */
export async function findWhisperFolder(model: unknown): Promise<WhisperFolder> {
  return kindOf(await pointedFolder(model, WANTED, refuseFile));
}

async function refuseFile(path: string): Promise<void> {
  // The bytes of the magic number 0x67676d6c, as whisper.cpp writes it.
  if (await startsWith(path, "lmgg")) {
    throw new UnsupportedError(
      `${path} is a whisper.cpp model (ggml), which cannot be read. Pass ${WANTED} of the same size instead.`,
      { subject: "ggml model" },
    );
  }
  if (await startsWith(path, "GGUF")) throw new ModelError(`${path} is a GGUF model, not Whisper.`, { file: path });
  if (/\.(pt|pth|ckpt)$/i.test(path)) throw pyTorch(path);
  if (!/\.(xml|bin|safetensors|json)$/i.test(basename(path))) {
    throw new ModelError(`${path} is no model this SDK can load: pass the folder of ${WANTED}.`, { file: path });
  }
}

function pyTorch(path: string): UnsupportedError {
  return new UnsupportedError(
    `${path} holds PyTorch weights, which are not read: they may run any program when loaded. ` +
      "Pass the safetensors checkpoint of the same model (openai/whisper-… on the hub).",
    { subject: "PyTorch weights" },
  );
}

async function kindOf(folder: string): Promise<WhisperFolder> {
  const names = await readdir(folder).catch((cause: unknown) => {
    throw new ModelError(`The model folder ${folder} cannot be read.`, { file: folder, cause });
  });
  // Any of them shows what was meant; what is missing is told later.
  if (names.some((name) => /^openvino_(encoder|decoder)_model\.(xml|bin)$/.test(name)))
    return { format: "openvino", folder };
  const other = OTHER_KINDS.flatMap(([pattern, kind]) => {
    const name = names.find((candidate) => pattern.test(candidate));
    return name === undefined ? [] : [{ name, kind }];
  })[0];
  if (other) throw new ModelError(`${folder} holds ${other.kind} (${other.name}), not ${WANTED}.`, { file: folder });
  if (names.includes("model.bin")) return { format: "ctranslate2", folder };
  const config = names.includes("config.json") ? await readJsonObject(join(folder, "config.json")) : undefined;
  const type = config?.["model_type"];
  if (typeof type === "string" && type !== "whisper") {
    throw new ModelError(`${folder} holds a model of the kind "${type}" (config.json), not ${WANTED}.`, {
      file: join(folder, "config.json"),
    });
  }
  if (names.some((name) => /^model.*\.safetensors(\.index\.json)?$/.test(name)))
    return { format: "safetensors", folder };
  const weights = names.find((name) => /\.(pt|pth)$|^pytorch_model.*\.bin$/.test(name));
  if (weights !== undefined) throw pyTorch(join(folder, weights));
  if (type === "whisper") {
    throw new ModelError(
      `The Whisper checkpoint ${folder} has no weights (model.safetensors). Fetch them from the same repository.`,
      {
        file: join(folder, "model.safetensors"),
      },
    );
  }
  const content =
    names.length === 0 ? "It is empty." : `It holds: ${names.slice(0, 8).join(", ")}${names.length > 8 ? ", …" : ""}.`;
  throw new ModelError(`${folder} does not hold ${WANTED}. ${content}`, { file: folder });
}

/** Needed beside the graphs. The preprocessor's file is not: all Whisper models differ in the number of bands only. */
const NEEDED = [
  ...["openvino_encoder_model.xml", "openvino_encoder_model.bin"],
  ...["openvino_decoder_model.xml", "openvino_decoder_model.bin"],
  ...["config.json", "generation_config.json", "tokenizer.json"],
];

/**
 * Checks a folder with OpenVINO IR.
 *
 * @throws ModelError naming everything that is missing, in one message
 * @throws UnsupportedError if the decoder keeps no state
 */
export async function checkWhisperIr(folder: string): Promise<void> {
  const problems: { file: string; problem: string }[] = [];
  for (const file of NEEDED) {
    const problem = await problemOf(join(folder, file));
    if (problem) problems.push({ file, problem });
  }
  if (problems.length > 0) {
    const list = problems.map(({ file, problem }) => `${file} (${problem})`).join(", ");
    throw new ModelError(
      `The Whisper folder ${folder} is not complete: ${list}. ` +
        "Copy the whole folder as optimum-intel or `pergola convert` wrote it, links included.",
      { file: join(folder, problems[0]!.file) },
    );
  }
  const decoder = join(folder, "openvino_decoder_model.xml");
  if ((await readFile(decoder, "latin1")).includes('type="ReadValue"')) return;
  throw new UnsupportedError(
    `${decoder} keeps no state between steps: it was exported by an older optimum-intel, or without the past ` +
      "(openvino_decoder_with_past_model.xml). Export it again with a current one " +
      "(optimum-cli export openvino --task automatic-speech-recognition-with-past), or pass the checkpoint itself.",
    { subject: "decoder without state" },
  );
}
