import { join } from "node:path";
import { throwIfAborted } from "../core/abort.js";
import { storedFormat, type WeightsOption } from "../core/weight-options.js";
import { cachedConversion } from "./convert/conversion-cache.js";
import { WHISPER } from "./convert/models/whisper/whisper-checkpoint.js";
import { whisperPreprocessorConfig } from "./convert/models/whisper/whisper-files.js";
import { keyOfFiles } from "./files/file-key.js";
import { readJsonObject } from "./files/json-file.js";
import { modelPath } from "./files/model-path.js";
import { checkWhisperIr, findWhisperFolder, type WhisperFolder } from "./recognize/whisper-folder.js";
import { refuseOtherWeights } from "./fixed-weights.js";

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
  format: WhisperFolder["format"];
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
  const { format, folder: given } = await findWhisperFolder(model);
  let folder = given;
  if (format !== "openvino") {
    const checkpoint = { architecture: WHISPER.name, format, folder: given };
    folder = await cachedConversion({ checkpoint, plan: { format: storedFormat(weights) } }, options);
  } else {
    refuseOtherWeights(given, weights);
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
    ...{ path: modelPath(model), folder, encoder, decoder, config, preprocessorConfig, format },
    generationConfig: (await readJsonObject(join(folder, "generation_config.json"))) ?? {},
    modelKey: await keyOfFiles([encoder.xml, encoder.bin, decoder.xml, decoder.bin]),
  };
}
