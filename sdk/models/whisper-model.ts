import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { throwIfAborted } from "../core/abort.js";
import { ModelError, UnsupportedError } from "../core/errors.js";
import { storedFormat, type WeightsOption } from "../core/weight-options.js";
import { cachedConversion } from "./convert/conversion-cache.js";
import { whisperPreprocessorConfig } from "./convert/models/whisper/whisper-files.js";
import { problemOf } from "./files/file-check.js";
import { keyOfFiles } from "./files/file-key.js";
import { readJsonObject } from "./files/json-file.js";
import { refuseOtherWeights } from "./fixed-weights.js";
import { recognize, sightingFor } from "./recognize/recognize.js";

/** A Whisper model, found, checked and, where it was a checkpoint, converted. */
export interface WhisperModelSource {
  /** What was given, as an absolute path. */
  path: string;
  /** Holds the graphs, the configuration files and the tokenizer. */
  folder: string;
  encoder: { xml: string; bin: string };
  decoder: { xml: string; bin: string };
  /** `config.json`. */
  config: Record<string, unknown>;
  /** `generation_config.json`. */
  generationConfig: Record<string, unknown>;
  /** `preprocessor_config.json`. */
  preprocessorConfig: Record<string, unknown>;
  /** Changes whenever the graphs do. */
  modelKey: string;
  /** What the path given holds. */
  format: "openvino" | "ctranslate2" | "safetensors";
}

export interface ResolveWhisperOptions {
  /** How a checkpoint's matrices are stored. Defaults to `file`. */
  weights?: WeightsOption | undefined;
  /** Keeps conversions; empty = a temporary folder, removed when the process ends. */
  cacheFolder: string;
  signal?: AbortSignal | undefined;
  /** Told how far a conversion is, from 0 to 1. */
  onProgress?: ((fraction: number) => void) | undefined;
}

const WANTED =
  "a Whisper model: OpenVINO IR (openvino_encoder_model.xml), a CTranslate2 folder (model.bin) or a Hugging Face checkpoint (model.safetensors)";

/**
 * Finds the files of a Whisper model: a folder with OpenVINO IR, or a CTranslate2 or Hugging Face checkpoint, which is
 * converted the first time.
 *
 * @throws OptionError if the argument cannot be a path, or `weights` is asked for where nothing is converted
 * @throws ModelError naming what is missing, damaged, or does not fit together
 * @throws UnsupportedError for hub ids and for formats that cannot be read
 * @throws the signal's reason
 */
export async function resolveWhisperModel(model: unknown, options: ResolveWhisperOptions): Promise<WhisperModelSource> {
  const { weights, signal } = options;
  throwIfAborted(signal);
  const recognized = await recognize(model, WANTED);
  const { checkpoint } = sightingFor(["WhisperPipeline"], recognized, WANTED);
  let { folder } = recognized;
  if (checkpoint) {
    folder = await cachedConversion({ checkpoint, plan: { format: storedFormat(weights) } }, options);
  } else {
    refuseOtherWeights(folder, weights);
  }
  await checkWhisperIr(folder);
  throwIfAborted(signal);
  const config = (await readJsonObject(join(folder, "config.json"))) ?? {};
  const bands = config["num_mel_bins"];
  const preprocessorConfig =
    (await readJsonObject(join(folder, "preprocessor_config.json"))) ??
    whisperPreprocessorConfig(typeof bands === "number" ? bands : 80);
  const graph = (name: string) => ({ xml: join(folder, `${name}.xml`), bin: join(folder, `${name}.bin`) });
  const [encoder, decoder] = [graph("openvino_encoder_model"), graph("openvino_decoder_model")];
  return {
    ...{ path: recognized.path, folder, encoder, decoder, config, preprocessorConfig },
    format: checkpoint?.format ?? "openvino",
    generationConfig: (await readJsonObject(join(folder, "generation_config.json"))) ?? {},
    modelKey: await keyOfFiles([encoder.xml, encoder.bin, decoder.xml, decoder.bin]),
  };
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
async function checkWhisperIr(folder: string): Promise<void> {
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
