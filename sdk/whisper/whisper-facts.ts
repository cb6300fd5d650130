import { join } from "node:path";
import { z } from "zod";
import { ModelError } from "../core/errors.js";
import type { NativeWhisperTokens } from "../core/native-types.js";
import type { WhisperModelSource } from "../models/whisper-model.js";
import type { Tokenizer } from "../text/tokenizer.js";

/** What a Whisper model's files say about how to use it. */
export interface WhisperFacts {
  tokens: NativeWhisperTokens;
  /** `<|startofprev|>`; `undefined`: the model takes no previous text. */
  startOfPrevious: number | undefined;
  /** Token of each task; `undefined` for models that have none (English only). */
  tasks: { transcribe: number | undefined; translate: number | undefined };
  /** Language code → token; empty for a model that knows only English. */
  languages: ReadonlyMap<string, number>;
  /** Never part of a text. */
  controlIds: readonly number[];
  /** Tokens that `generation_config.json` forbids; `undefined` if it does not say. */
  suppressTokens: readonly number[] | undefined;
  beginSuppressTokens: readonly number[];
  /** Cross-attention heads that follow the audio; empty: no word times. */
  alignmentHeads: [layer: number, head: number][];
  /** Bands of the spectrogram: 80 or 128. */
  melBins: number;
  /** Decoder positions: 448. */
  maxPositions: number;
  /** Greatest first timestamp in steps of 0.02 s that `generation_config.json` allows. */
  maxInitialTimestampIndex: number | undefined;
  /** Bytes of one encoded window: cross-attention keys and values. */
  windowBytes: number;
}

/** Seconds of one timestamp step. */
export const TIMESTAMP_STEP = 0.02;
/** Mel frames a second. */
export const FRAMES_PER_SECOND = 100;
/** Mel frames of the encoder's window: 30 s. */
export const WINDOW_FRAMES = 3000;
export const SAMPLE_RATE = 16_000;
/** Samples of one mel frame. */
export const SAMPLES_PER_FRAME = 160;

const id = z.number().int().min(0);
const ids = z.array(z.number().int());
const pairs = z.array(z.tuple([id, id]));
const idByName = z.record(z.string(), id);

/**
 * Reads the facts: `generation_config.json` first, the tokenizer's added tokens where it says nothing.
 *
 * @throws ModelError naming the file and the field that is wrong
 */
export function readWhisperFacts(source: WhisperModelSource, tokenizer: Tokenizer): WhisperFacts {
  const generation = new Fields(source.generationConfig, join(source.folder, "generation_config.json"));
  const config = new Fields(source.config, join(source.folder, "config.json"));
  const preprocessor = new Fields(source.preprocessorConfig, join(source.folder, "preprocessor_config.json"));
  const vocabulary = new Vocabulary(tokenizer, config.get("vocab_size", id), generation.file);

  const named = (field: string, token: string): number | undefined =>
    vocabulary.check(field, generation.get(field, id) ?? tokenizer.idOf(token));
  const eos = generation.get("eos_token_id", z.union([id, z.array(id).min(1)]));
  const noTimestamps = vocabulary.need("no_timestamps_token_id", named("no_timestamps_token_id", "<|notimestamps|>"));
  const tokens: NativeWhisperTokens = {
    endOfText: vocabulary.need("eos_token_id", (Array.isArray(eos) ? eos[0] : eos) ?? tokenizer.idOf("<|endoftext|>")),
    startOfTranscript: vocabulary.need(
      "decoder_start_token_id",
      named("decoder_start_token_id", "<|startoftranscript|>") ?? config.get("decoder_start_token_id", id),
    ),
    noTimestamps,
    timestampBegin: vocabulary.need("no_timestamps_token_id", tokenizer.idOf("<|0.00|>") ?? noTimestamps + 1),
    // Tokenizers of English-only models call it <|nocaptions|>.
    noSpeech: tokenizer.idOf("<|nospeech|>") ?? tokenizer.idOf("<|nocaptions|>") ?? -1,
  };
  vocabulary.assertBelongs("<|startoftranscript|>", tokens.startOfTranscript);
  vocabulary.assertBelongs("<|notimestamps|>", tokens.noTimestamps);

  const languages = readLanguages(generation, config, vocabulary, tokenizer);
  const taskIds = generation.get("task_to_id", idByName);
  const startOfPrevious = named("prev_sot_token_id", "<|startofprev|>");
  const task = (name: string): number | undefined =>
    vocabulary.check("task_to_id", taskIds?.[name] ?? tokenizer.idOf(`<|${name}|>`));
  const control = [
    tokens.startOfTranscript,
    task("translate"),
    task("transcribe"),
    tokenizer.idOf("<|startoflm|>"),
    startOfPrevious,
    tokens.noSpeech,
  ];
  const positions = config.get("max_source_positions", id) ?? 1500;
  const layers = config.get("decoder_layers", id) ?? 0;
  return {
    tokens,
    startOfPrevious,
    tasks:
      languages.size > 0
        ? { transcribe: task("transcribe"), translate: task("translate") }
        : { transcribe: undefined, translate: undefined },
    languages,
    controlIds: [...new Set(control.filter((token) => token !== undefined && token >= 0))] as number[],
    // -1 stands for "symbols that are not spoken" in openai/whisper; converted models list them.
    suppressTokens: vocabulary.checkAll(
      "suppress_tokens",
      generation.get("suppress_tokens", ids)?.filter((token) => token !== -1),
    ),
    beginSuppressTokens: vocabulary.checkAll("begin_suppress_tokens", generation.get("begin_suppress_tokens", ids)) ?? [
      tokens.endOfText,
      ...tokenizer.encode(" ", { addSpecialTokens: false }).slice(0, 1),
    ],
    alignmentHeads: readHeads(generation, config),
    melBins: preprocessor.get("feature_size", id) ?? config.get("num_mel_bins", id) ?? 80,
    maxPositions: config.get("max_target_positions", id) ?? 448,
    maxInitialTimestampIndex: generation.get("max_initial_timestamp_index", id),
    windowBytes: layers * 2 * positions * (config.get("d_model", id) ?? 0) * 4,
  };
}

function readLanguages(
  generation: Fields,
  config: Fields,
  vocabulary: Vocabulary,
  tokenizer: Tokenizer,
): ReadonlyMap<string, number> {
  const listed = generation.get("lang_to_id", idByName);
  const multilingual =
    generation.get("is_multilingual", z.boolean()) ??
    (listed !== undefined || (config.get("vocab_size", id) ?? 0) > 51_864);
  if (!multilingual) return new Map();
  const found = new Map<string, number>();
  for (const [token, value] of Object.entries(listed ?? languageTokens(tokenizer))) {
    found.set(token.replace(/^<\|(.*)\|>$/, "$1"), vocabulary.need(`lang_to_id[${JSON.stringify(token)}]`, value));
  }
  if (found.size > 0) return found;
  throw new ModelError(
    `${generation.file} says that the model is multilingual, but names no languages (lang_to_id), and the tokenizer has no ` +
      "language tokens. Use the files that were published together.",
    { file: generation.file },
  );
}

/** Language tokens stand between `<|startoftranscript|>` and the tasks. */
function languageTokens(tokenizer: Tokenizer): Record<string, number> {
  const found: Record<string, number> = {};
  const start = tokenizer.idOf("<|startoftranscript|>");
  if (start === undefined) return found;
  for (let token = start + 1; ; token++) {
    const name = tokenizer.tokenOf(token);
    if (name === undefined || !/^<\|[a-z]{2,3}\|>$/.test(name)) return found;
    found[name] = token;
  }
}

function readHeads(generation: Fields, config: Fields): [number, number][] {
  const heads = generation.get("alignment_heads", pairs) ?? [];
  const layers = config.get("decoder_layers", id) ?? Infinity;
  const width = config.get("decoder_attention_heads", id) ?? Infinity;
  const wrong = heads.find(([layer, head]) => layer >= layers || head >= width);
  if (!wrong) return heads;
  throw new ModelError(
    `${generation.file}: alignment_heads names head [${wrong.join(", ")}], but the decoder has ${layers} layers of ${width} heads. ` +
      "Use the file that belongs to this model.",
    { file: generation.file },
  );
}

/** Fields of one JSON file. */
class Fields {
  readonly file: string;
  readonly #values: Record<string, unknown>;

  constructor(values: Record<string, unknown>, file: string) {
    this.#values = values;
    this.file = file;
  }

  /** `undefined` if the field is absent or null. @throws ModelError for a value of another type */
  get<Value>(name: string, schema: z.ZodType<Value>): Value | undefined {
    const value = this.#values[name];
    if (value === undefined || value === null) return undefined;
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    throw new ModelError(
      `${this.file}: ${name} has a value that cannot be used (${parsed.error.issues[0]!.message}).`,
      {
        file: this.file,
        cause: parsed.error,
      },
    );
  }
}

/** Checks ids against the size of the vocabulary. */
class Vocabulary {
  readonly #tokenizer: Tokenizer;
  readonly #size: number;
  readonly #file: string;

  constructor(tokenizer: Tokenizer, size: number | undefined, file: string) {
    this.#tokenizer = tokenizer;
    this.#size = size ?? tokenizer.vocabSize;
    this.#file = file;
  }

  check(field: string, token: number | undefined): number | undefined {
    if (token === undefined || (token >= 0 && token < this.#size)) return token;
    throw new ModelError(
      `${this.#file}: ${field} names token ${token}, but the model's vocabulary has ${this.#size} tokens. ` +
        "Use the file that belongs to this model.",
      { file: this.#file },
    );
  }

  need(field: string, token: number | undefined): number {
    if (token !== undefined) return this.check(field, token)!;
    throw new ModelError(
      `${this.#file}: ${field} is missing, and the tokenizer has no such token either: this is no Whisper model, or its files ` +
        "do not belong together.",
      { file: this.#file },
    );
  }

  checkAll(field: string, tokens: readonly number[] | undefined): readonly number[] | undefined {
    for (const token of tokens ?? []) this.check(field, token);
    return tokens;
  }

  /** A tokenizer of another model would give fluent nonsense. */
  assertBelongs(token: string, expected: number): void {
    const found = this.#tokenizer.idOf(token);
    if (found === expected) return;
    const says = found === undefined ? `has no token ${token}` : `has ${token} at ${found}`;
    throw new ModelError(
      `The tokenizer ${says}, but ${this.#file} says ${expected}: the files do not belong together.`,
      { file: this.#file },
    );
  }
}
