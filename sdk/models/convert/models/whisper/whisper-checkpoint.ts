import { join } from "node:path";
import { ModelError } from "../../../../core/errors.js";
import { problemOf } from "../../../files/file-check.js";
import { readJsonObject } from "../../../files/json-file.js";
import type { Architecture, Checkpoint, PreparedConversion } from "../common/architecture.js";
import { whisperDecoder } from "./whisper-decoder.js";
import { whisperEncoder } from "./whisper-encoder.js";
import { readWhisperShape, type WhisperShape } from "./whisper-shape.js";
import { existing, requireFiles } from "../../read/checkpoint-files.js";
import { CTranslate2WhisperSource } from "./ctranslate2-whisper.js";
import { findSafetensors, SafetensorsSource } from "../../read/safetensors.js";
import type { TensorSource } from "../../read/tensor-source.js";
import type { WeightPlan } from "../../ir/weights.js";
import {
  whisperConfig,
  whisperGenerationConfig,
  whisperPreprocessorConfig,
  whisperSpecialTokensMap,
  whisperTokenizerConfig,
} from "./whisper-files.js";
import { completeTokenizer, readWhisperTokens, type WhisperTokens } from "./whisper-tokenizer.js";

type Json = Record<string, unknown>;

/** Whisper, from CTranslate2 folders and Hugging Face folders with safetensors. */
export const WHISPER: Architecture = {
  name: "whisper",
  modelTypes: ["whisper"],
  formats: ["f16", "int8"],
  files,
  prepare: prepareWhisper,
};

/** Files that decide what a conversion holds, besides the weights. */
const SMALL_FILES = [
  ...["config.json", "generation_config.json", "preprocessor_config.json"],
  ...["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"],
];

/** Files that are taken over as they are where the checkpoint has them. */
const KEPT = ["preprocessor_config.json", "tokenizer_config.json", "special_tokens_map.json"];

async function files({ format, folder }: Checkpoint): Promise<string[]> {
  const weights = format === "ctranslate2" ? [join(folder, "model.bin")] : (await findSafetensors(folder)).paths;
  return [...weights, ...(await existing(folder, SMALL_FILES))];
}

/**
 * Checks a Whisper checkpoint and describes its conversion. The caller closes `source`.
 *
 * @throws ModelError naming what is missing, damaged, or does not fit together
 * @throws UnsupportedError for weights and variants that cannot be converted
 */
async function prepareWhisper({ folder, format }: Checkpoint, plan: WeightPlan): Promise<PreparedConversion> {
  const remedy =
    format === "ctranslate2"
      ? "Put them beside model.bin: config.json comes with the CTranslate2 model, tokenizer.json also with the original one (openai/whisper-… on the hub)"
      : "Fetch them from the same repository";
  await requireFiles(folder, ["config.json", "tokenizer.json"], remedy);
  const tokenizerFile = join(folder, "tokenizer.json");
  const tokenizer = (await readJsonObject(tokenizerFile)) ?? {};
  const tokens = readWhisperTokens(tokenizer, tokenizerFile);
  const configFile = join(folder, "config.json");
  const config = (await readJsonObject(configFile)) ?? {};
  const opened =
    format === "ctranslate2"
      ? await openCTranslate2(folder, config, configFile, tokens)
      : await openSafetensors(folder, config, configFile, tokens);
  try {
    const { source, shape, confirmed } = opened;
    const added = completeTokenizer(tokenizer, shape.vocabularySize, !confirmed, tokenizerFile);
    const json = new Map<string, unknown>([
      ["config.json", opened.config],
      ["generation_config.json", opened.generationConfig],
    ]);
    const copies = new Map<string, string>();
    for (const name of KEPT) {
      if ((await problemOf(join(folder, name))) === undefined) copies.set(name, join(folder, name));
      else json.set(name, derived(name, shape, tokens));
    }
    if (added > 0) json.set("tokenizer.json", tokenizer);
    else copies.set("tokenizer.json", tokenizerFile);
    const graphs = new Map([
      ["openvino_encoder_model", whisperEncoder(source, shape, plan)],
      ["openvino_decoder_model", whisperDecoder(source, shape, plan)],
    ]);
    return { architecture: "whisper", plan, graphs, json, copies, source };
  } catch (error) {
    await opened.source.close();
    throw error;
  }
}

interface Opened {
  source: TensorSource;
  shape: WhisperShape;
  config: Json;
  generationConfig: Json;
  /** The checkpoint itself says that this is its tokenizer. */
  confirmed: boolean;
}

async function openCTranslate2(
  folder: string,
  config: Json,
  configFile: string,
  tokens: WhisperTokens,
): Promise<Opened> {
  const source = await CTranslate2WhisperSource.open(join(folder, "model.bin"));
  try {
    const { encoderLayers, decoderLayers, encoderHeads, decoderHeads } = source.facts;
    const size = (name: string, axis: number): number => source.tensors.get(name)?.shape[axis] ?? 0;
    const shape: WhisperShape = {
      width: size("model.decoder.embed_tokens.weight", 1),
      vocabularySize: size("model.decoder.embed_tokens.weight", 0),
      melBands: size("model.encoder.conv1.weight", 1),
      sourcePositions: size("model.encoder.embed_positions.weight", 0),
      targetPositions: size("model.decoder.embed_positions.weight", 0),
      encoder: { layers: encoderLayers, heads: encoderHeads, inner: size("model.encoder.layers.0.fc1.weight", 0) },
      decoder: { layers: decoderLayers, heads: decoderHeads, inner: size("model.decoder.layers.0.fc1.weight", 0) },
      tied: true,
    };
    const derivedConfig = whisperConfig(shape, tokens);
    // The same checks as for a config.json from outside.
    readWhisperShape(derivedConfig, source.path);
    const generationConfig = {
      ...listFields(config, configFile, shape),
      ...whisperGenerationConfig(shape, tokens),
    };
    if (generationConfig["is_multilingual"] === true) checkLanguages(config, configFile, tokens);
    return { source, shape, config: derivedConfig, generationConfig, confirmed: false };
  } catch (error) {
    await source.close();
    throw error;
  }
}

/** The lists of CTranslate2's `config.json` under the names of `generation_config.json`. */
function listFields(config: Json, file: string, { decoder }: WhisperShape): Json {
  const fields: Json = {};
  for (const [from, to] of [
    ["suppress_ids", "suppress_tokens"],
    ["suppress_ids_begin", "begin_suppress_tokens"],
    ["alignment_heads", "alignment_heads"],
  ] as const) {
    const value = config[from];
    if (value === undefined || value === null) continue;
    if (!Array.isArray(value))
      throw new ModelError(`${file}: "${from}" must be a list. Fetch the file again.`, { file });
    fields[to] = value;
  }
  for (const pair of (fields["alignment_heads"] ?? []) as unknown[]) {
    const [layer, head] = Array.isArray(pair) ? (pair as number[]) : [];
    const valid = (value: unknown, limit: number): boolean =>
      Number.isInteger(value) && (value as number) >= 0 && (value as number) < limit;
    if (valid(layer, decoder.layers) && valid(head, decoder.heads)) continue;
    throw new ModelError(
      `${file}: the alignment head ${JSON.stringify(pair)} is outside the decoder. The files do not belong together.`,
      {
        file,
      },
    );
  }
  return fields;
}

function checkLanguages(config: Json, file: string, { languages }: WhisperTokens): void {
  const listed = config["lang_ids"];
  if (!Array.isArray(listed)) return;
  const known = new Set(Object.values(languages));
  if (listed.length === known.size && listed.every((id) => known.has(id as number))) return;
  throw new ModelError(
    `${file} and tokenizer.json name different languages (${listed.length} and ${known.size}). Fetch both from the same model.`,
    { file },
  );
}

async function openSafetensors(
  folder: string,
  config: Json,
  configFile: string,
  tokens: WhisperTokens,
): Promise<Opened> {
  const shape = readWhisperShape(config, configFile);
  const generationFile = join(folder, "generation_config.json");
  const given = (await readJsonObject(generationFile)) ?? {};
  const listed = given["no_timestamps_token_id"];
  if (typeof listed === "number" && listed !== tokens.noTimestamps) {
    throw new ModelError(
      `${generationFile} says that <|notimestamps|> is ${listed}, tokenizer.json says ${tokens.noTimestamps}. ` +
        "Fetch both from the same model.",
      { file: generationFile },
    );
  }
  // Older checkpoints have no generation_config.json, or one without Whisper's fields; some are in config.json then.
  const older = Object.fromEntries(
    ["suppress_tokens", "begin_suppress_tokens", "alignment_heads"].flatMap((name) =>
      config[name] ? [[name, config[name]]] : [],
    ),
  );
  const generationConfig = { ...whisperGenerationConfig(shape, tokens), ...older, ...given };
  const source = await SafetensorsSource.open(folder);
  return { source, shape, config, generationConfig, confirmed: typeof listed === "number" };
}

function derived(name: string, shape: WhisperShape, tokens: WhisperTokens): Json {
  if (name === "preprocessor_config.json") return whisperPreprocessorConfig(shape.melBands);
  return name === "tokenizer_config.json" ? whisperTokenizerConfig(tokens) : whisperSpecialTokensMap(tokens);
}
