import { OptionError, UnsupportedError } from "../core/errors.js";
import { mergeOptions, type MergedOptions, type OptionLayer } from "../core/explain.js";
import type { NativeTranscriberInfo } from "../core/native-types.js";
import { showValue } from "../core/validate.js";
import type { Tokenizer } from "../text/tokenizer.js";
import { languageCode } from "./languages.js";
import { TIMESTAMP_STEP, type WhisperFacts } from "./whisper-facts.js";
import type { LiveOptions, WhisperOptions } from "./whisper-options.js";

/** Every option with a value; `undefined` only where the run decides. */
export interface WhisperSettings {
  language: string | undefined;
  detectLanguagePerWindow: boolean;
  task: "transcribe" | "translate";
  timestamps: false | "segment" | "word";
  mode: "sequential" | "batched" | undefined;
  batchSize: number | undefined;
  temperature: readonly number[];
  compressionRatioThreshold: number | null;
  logprobThreshold: number | null;
  noSpeechThreshold: number | null;
  conditionOnPreviousText: boolean;
  prompt: string;
  carryPrompt: boolean;
  hotwords: string;
  beamSize: number;
  patience: number;
  bestOf: number;
  lengthPenalty: number | null;
  maxNewTokens: number | undefined;
  suppressTokens: readonly number[];
  maxInitialTimestamp: number | null;
  hallucinationSilenceThreshold: number | null;
  range: readonly [start: number, end?: number | undefined] | undefined;
  seed: number;
  partialEvery: number;
  pause: number;
}

const DEFAULTS: WhisperSettings = {
  language: undefined,
  detectLanguagePerWindow: false,
  task: "transcribe",
  timestamps: "segment",
  mode: undefined,
  batchSize: undefined,
  temperature: [0, 0.2, 0.4, 0.6, 0.8, 1],
  compressionRatioThreshold: 2.4,
  logprobThreshold: -1,
  noSpeechThreshold: 0.6,
  conditionOnPreviousText: false,
  prompt: "",
  carryPrompt: false,
  hotwords: "",
  beamSize: 1,
  patience: 1,
  bestOf: 1,
  lengthPenalty: null,
  maxNewTokens: undefined,
  suppressTokens: [],
  maxInitialTimestamp: 1,
  hallucinationSilenceThreshold: null,
  range: undefined,
  seed: 0,
  partialEvery: 1,
  pause: 0.8,
};

/** What is needed of a loaded model to judge options. */
export interface SettingsModel {
  facts: WhisperFacts;
  tokenizer: Tokenizer;
  transcriber: { info: NativeTranscriberInfo };
}

/** Options of every kind of call. */
export type AnyOptions = WhisperOptions & Pick<LiveOptions, "partialEvery" | "pause">;

/** Settings of one call, checked against the model, with what follows from them. */
export interface WhisperCall {
  settings: WhisperSettings & { mode: "sequential" | "batched"; maxNewTokens: number };
  sources: MergedOptions<WhisperSettings>["sources"];
  /** Hotwords and prompt as tokens, 223 together at most. */
  hotwordIds: readonly number[];
  promptIds: readonly number[];
  /** Tokens of previous text that fit in a prompt. */
  previousRoom: number;
  suppressTokens: Int32Array;
  beginSuppressTokens: Int32Array;
  /** What a reader may not expect. */
  notes: string[];
}

/**
 * Merges the options with what the model says and the defaults, and checks what they say about each other and the model.
 *
 * @throws OptionError, UnsupportedError
 */
export function planCall(model: SettingsModel, options: AnyOptions): WhisperCall {
  const { facts, tokenizer, transcriber } = model;
  const merged = mergeOptions([callLayer(options), configLayer(facts)], DEFAULTS);
  const { sources } = merged;
  const most = transcriber.info.maxPositions >> 1;
  const settings = {
    ...merged.values,
    mode: merged.values.mode ?? ((merged.values.batchSize ?? 1) > 1 ? ("batched" as const) : ("sequential" as const)),
    maxNewTokens: merged.values.maxNewTokens ?? most,
  };
  if (settings.language !== undefined) settings.language = languageCode(settings.language, facts.languages);
  checkModel(settings, sources, model);
  checkEachOther(settings, sources);
  const room = Math.max(0, most - 1);
  const hotwordIds = promptTokens(settings.hotwords, tokenizer, room);
  const promptIds = promptTokens(settings.prompt, tokenizer, room - hotwordIds.length);
  return {
    settings,
    sources,
    hotwordIds,
    promptIds,
    previousRoom: room,
    suppressTokens: Int32Array.from(new Set([...settings.suppressTokens, ...facts.controlIds])),
    beginSuppressTokens: Int32Array.from(facts.beginSuppressTokens),
    notes: notesOf(settings, sources, facts),
  };
}

function callLayer(options: AnyOptions): OptionLayer<WhisperSettings> {
  const { language, temperature, hotwords, ...rest } = options;
  return {
    source: "call",
    values: {
      // What is no setting is left out when layers are merged.
      ...rest,
      language: language ?? undefined,
      temperature: typeof temperature === "number" ? [temperature] : temperature,
      hotwords: typeof hotwords === "string" ? hotwords : hotwords?.join(", "),
    },
  };
}

function configLayer(facts: WhisperFacts): OptionLayer<WhisperSettings> {
  const index = facts.maxInitialTimestampIndex;
  return {
    source: "generation_config.json",
    values: {
      suppressTokens: facts.suppressTokens,
      maxInitialTimestamp: index === undefined ? undefined : index * TIMESTAMP_STEP,
    },
  };
}

/** As openai/whisper encodes them: with one space in front. The end of a long text counts. */
function promptTokens(text: string, tokenizer: Tokenizer, room: number): number[] {
  const trimmed = text.trim();
  if (trimmed === "" || room === 0) return [];
  // Enough for the tokens that fit, so that a text of any length costs the same.
  const end = trimmed.length > room * 64 ? trimmed.slice(-room * 64) : ` ${trimmed}`;
  return tokenizer.encode(end, { addSpecialTokens: false, allowControlTokens: false }).slice(-room);
}

type Sources = WhisperCall["sources"];

function checkModel(settings: WhisperCall["settings"], sources: Sources, { facts, transcriber }: SettingsModel): void {
  const isEnglishOnly = facts.languages.size === 0;
  const { vocabSize, maxPositions } = transcriber.info;
  if (settings.task === "translate" && facts.tasks.translate === undefined) {
    throw wrong("task", settings.task, '"transcribe": this model knows only English and cannot translate');
  }
  if (isEnglishOnly && settings.detectLanguagePerWindow) {
    throw wrong("detectLanguagePerWindow", true, "false: this model knows only English");
  }
  if (settings.timestamps === "word" && facts.alignmentHeads.length === 0) {
    throw new UnsupportedError(
      'timestamps: "word" needs to know which attention heads follow the audio, and this model\'s generation_config.json does not say ' +
        '(alignment_heads). Use timestamps: "segment", or add alignment_heads from the model it was made from.',
      { subject: "word timestamps" },
    );
  }
  if ((settings.prompt.trim() !== "" || settings.hotwords.trim() !== "") && facts.startOfPrevious === undefined) {
    throw new UnsupportedError("This model takes no prompt: its vocabulary has no <|startofprev|>.", {
      subject: "prompt",
    });
  }
  if (settings.conditionOnPreviousText && facts.startOfPrevious === undefined) {
    throw new UnsupportedError("This model takes no previous text: its vocabulary has no <|startofprev|>.", {
      subject: "conditionOnPreviousText",
    });
  }
  if (settings.maxNewTokens >= maxPositions) {
    throw wrong("maxNewTokens", settings.maxNewTokens, `below ${maxPositions}, the positions of the model's decoder`);
  }
  const outside = settings.suppressTokens.findIndex((token) => token >= vocabSize);
  if (outside >= 0 && sources.suppressTokens === "call") {
    const expected = `a token id below ${vocabSize}, the size of the model's vocabulary`;
    throw wrong(`suppressTokens[${outside}]`, settings.suppressTokens[outside], expected);
  }
}

function checkEachOther(settings: WhisperCall["settings"], sources: Sources): void {
  if (settings.language !== undefined && settings.detectLanguagePerWindow) {
    throw wrong("detectLanguagePerWindow", true, "false where language is given: leave one of them out");
  }
  if (settings.mode === "sequential" && (settings.batchSize ?? 1) > 1) {
    throw wrong("batchSize", settings.batchSize, '1 or left out in sequential mode (use mode: "batched")');
  }
  if (settings.mode === "batched" && settings.conditionOnPreviousText) {
    throw wrong("conditionOnPreviousText", true, "false in batched mode, in which windows are decoded side by side");
  }
  if (settings.beamSize > 1 && settings.temperature[0] !== 0) {
    throw wrong(
      "beamSize",
      settings.beamSize,
      "1 unless temperature is 0 or begins with 0: beams are for temperature 0",
    );
  }
  if (settings.hallucinationSilenceThreshold !== null) {
    const path = "hallucinationSilenceThreshold";
    if (settings.timestamps !== "word") {
      throw wrong(path, settings[path], 'null unless timestamps is "word": it judges words by their times');
    }
    if (settings.mode === "batched") throw wrong(path, settings[path], "null in batched mode");
  }
  if (sources.carryPrompt === "call" && settings.carryPrompt && settings.prompt.trim() === "") {
    throw wrong("carryPrompt", true, "used together with prompt");
  }
}

function notesOf(settings: WhisperSettings & { mode: string }, sources: Sources, facts: WhisperFacts): string[] {
  const notes: string[] = [];
  const given = (name: keyof WhisperSettings): boolean => sources[name] === "call";
  const samples = settings.temperature.some((value) => value > 0);
  if (given("patience") && settings.beamSize === 1) notes.push("patience: no effect without beamSize above 1.");
  if (given("bestOf") && !samples) notes.push("bestOf: no effect, temperature is 0.");
  if (given("seed") && !samples) notes.push("seed: no effect, temperature is 0.");
  if (settings.mode === "batched" && settings.prompt.trim() !== "") {
    notes.push("prompt: stands before every window in batched mode.");
  }
  if (facts.languages.size === 0) notes.push("The model knows only English.");
  return notes;
}

function wrong(path: string, received: unknown, expected: string): OptionError {
  return new OptionError(`${path} must be ${expected}; received ${showValue(received)}.`, { path, expected, received });
}
