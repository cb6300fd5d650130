import { z } from "zod";
import { commonLoadFields, type CommonLoadOptions } from "../core/load-options.js";
import { callback, flag, numberIn, signal, wholeNumber } from "../core/option-schemas.js";
import { parseOptions } from "../core/validate.js";

/** Options of {@link WhisperPipeline.load}. */
export type WhisperLoadOptions = CommonLoadOptions;

/** How far a transcription has come. */
export interface TranscriptionProgress {
  /** `audio`: reading it and computing its spectrogram. `speech`: writing down what is said. */
  stage: "audio" | "speech";
  /** Seconds of audio that this stage is done with. */
  seconds: number;
  /** Seconds of audio in all; absent while a stream has not ended. */
  of?: number;
  /** Of the whole call, from 0 to 1; never goes back. */
  fraction: number;
}

/** What recordings and live audio have in common. */
export interface SpeechOptions {
  /**
   * What is spoken: a code (`"de"`), its English name, or the model's token (`"<|de|>"`); `undefined` or `null` lets the model find
   * out. English-only models take `"en"` alone. Defaults to finding out.
   */
  language?: string | null | undefined;
  /** Find out the language anew for each window of 30 s (in live audio: each utterance). Not together with `language`. Defaults to `false`. */
  detectLanguagePerWindow?: boolean | undefined;
  /** Write what was said, or its translation into English (multilingual models only). Defaults to `transcribe`. */
  task?: "transcribe" | "translate" | undefined;
  /**
   * One value, or an increasing list (0 to 1) to try in turn until a window's text passes the thresholds. Defaults to
   * `[0, 0.2, 0.4, 0.6, 0.8, 1]`.
   */
  temperature?: number | readonly number[] | undefined;
  /** A window whose text repeats itself more (bytes divided by size under zlib) is decoded again; `null` = no limit. Defaults to 2.4. */
  compressionRatioThreshold?: number | null | undefined;
  /** A window whose tokens have a lower mean log probability is decoded again; `null` = no limit. Defaults to -1. */
  logprobThreshold?: number | null | undefined;
  /**
   * A window with a higher probability of no speech gives no text, unless its mean log probability is above `logprobThreshold`; `null` = texts are
   * always kept. Defaults to 0.6.
   */
  noSpeechThreshold?: number | null | undefined;
  /** Let each window's text continue the text before it. Mistakes then repeat themselves more easily. Defaults to `false`. */
  conditionOnPreviousText?: boolean | undefined;
  /** Text that seems to have been said before: names, spelling, style. The last 223 tokens count. Defaults to none. */
  prompt?: string | undefined;
  /** Words that are likely to come, for every window. With `prompt` 223 tokens at most; what is too long is cut in front. Defaults to none. */
  hotwords?: string | readonly string[] | undefined;
  /** Beams of the search at temperature 0; 1 = the likeliest token at each step. Defaults to 1. */
  beamSize?: number | undefined;
  /** The search goes on until `beamSize * patience` texts are finished; above 0. Defaults to 1. */
  patience?: number | undefined;
  /** Samples at temperatures above 0, of which the likeliest is kept. Defaults to 1. */
  bestOf?: number | undefined;
  /** Exponent of the length (Google's rule, 0 to 1) in the ranking of beams and samples; `null` = divide by length. Defaults to `null`. */
  lengthPenalty?: number | null | undefined;
  /** Most tokens of one window, timestamps included. Defaults to half of the decoder's positions (224). */
  maxNewTokens?: number | undefined;
  /** Tokens that are never written; `[]` allows all but the control tokens. Defaults to what the model's `generation_config.json` lists. */
  suppressTokens?: readonly number[] | undefined;
  /** Latest first timestamp of a window in seconds; `null` = any. Defaults to 1. */
  maxInitialTimestamp?: number | null | undefined;
  /** Of sampling (temperatures above 0), 0 to 2^53-1. Defaults to 0. */
  seed?: number | undefined;
  /** Samples a second of raw samples (`Float32Array`); needed there, and only there. */
  sampleRate?: number | undefined;
  /** Ends the call; it rejects with the signal's reason once native work has ended. */
  signal?: AbortSignal | undefined;
}

/** Options of {@link WhisperPipeline.transcribe} and {@link WhisperPipeline.stream}. */
export interface WhisperOptions extends SpeechOptions {
  /**
   * `segment`: segments with their times. `word`: words too. `false`: the model writes no timestamps, each window is one
   * segment; audio of more than 30 s in sequence needs them and keeps them. Defaults to `segment`.
   */
  timestamps?: false | "segment" | "word" | undefined;
  /**
   * `sequential`: window after window, each begins where the text before it ended, as openai/whisper does. `batched`: the audio is cut at pauses and
   * several windows are decoded together, which is faster for long audio; `prompt` then stands before every window.
   * Defaults to `batched` where `batchSize` is above 1, else `sequential`.
   */
  mode?: "sequential" | "batched" | undefined;
  /** Windows decoded together in batched mode. Defaults to 8, less where memory is short. */
  batchSize?: number | undefined;
  /** Put `prompt` before every window, not only the first. Defaults to `false`. */
  carryPrompt?: boolean | undefined;
  /**
   * With words and in sequence: segments that look invented and stand in silence of more than so many seconds are left out; `null` = off.
   * Defaults to `null`.
   */
  hallucinationSilenceThreshold?: number | null | undefined;
  /** Only this part of the audio, in seconds; without an end, to the end. Times stay those of the whole. Defaults to all. */
  range?: readonly [start: number, end?: number | undefined] | undefined;
  /** Told how far the work is; an exception it throws ends the call. */
  onProgress?: ((progress: TranscriptionProgress) => void) | undefined;
}

/** Options of {@link WhisperPipeline.live}. */
export interface LiveOptions extends SpeechOptions {
  /** `word`: finals carry the times of their words. Defaults to `segment`. */
  timestamps?: "segment" | "word" | undefined;
  /** Seconds of new audio after which what is being said is decoded again; 0 = only finals. Defaults to 1. */
  partialEvery?: number | undefined;
  /** Seconds of silence that end an utterance, 0.1 to 5. Defaults to 0.8. */
  pause?: number | undefined;
}

const seconds = (least: number): z.ZodType<number> =>
  z.number().min(least).describe(`a number of seconds, ${least} or more`);
const nullable = (schema: z.ZodType<number>): z.ZodType<number | null> =>
  schema.nullable().describe(`${schema.description ?? "a number"}, or null`);
const temperature = numberIn(0, 1);

const speechFields = {
  language: z.string().nullable().describe('a language such as "en" or "German", or undefined to find out').optional(),
  detectLanguagePerWindow: flag.optional(),
  task: z.enum(["transcribe", "translate"]).optional(),
  temperature: z
    .union([
      temperature,
      z
        .array(temperature)
        .min(1)
        .refine((list) => list.every((value, index) => index === 0 || value > list[index - 1]!)),
    ])
    .describe("a number from 0 to 1, or an increasing list of such numbers")
    .optional(),
  compressionRatioThreshold: nullable(z.number().gt(0).describe("a number above 0")).optional(),
  logprobThreshold: nullable(z.number().max(0).describe("a number up to 0")).optional(),
  noSpeechThreshold: nullable(numberIn(0, 1)).optional(),
  conditionOnPreviousText: flag.optional(),
  prompt: z.string().describe("a string").optional(),
  hotwords: z
    .union([z.string(), z.array(z.string())])
    .describe("a string or an array of strings")
    .optional(),
  beamSize: wholeNumber(1, 32).optional(),
  patience: z.number().gt(0).max(100).describe("a number above 0").optional(),
  bestOf: wholeNumber(1, 32).optional(),
  lengthPenalty: nullable(numberIn(0, 1)).optional(),
  maxNewTokens: wholeNumber(1).optional(),
  suppressTokens: z.array(wholeNumber(0)).describe("an array of token ids").optional(),
  maxInitialTimestamp: nullable(numberIn(0, 30)).optional(),
  seed: wholeNumber(0).optional(),
  // Judged where audio is opened, with what it belongs to.
  sampleRate: z.number().describe("a number of samples a second").optional(),
  signal: signal.optional(),
};

const callSchema = z.strictObject({
  ...speechFields,
  timestamps: z
    .union([z.literal(false), z.enum(["segment", "word"])])
    .describe('false, "segment" or "word"')
    .optional(),
  mode: z.enum(["sequential", "batched"]).optional(),
  batchSize: wholeNumber(1, 256).optional(),
  carryPrompt: flag.optional(),
  hallucinationSilenceThreshold: nullable(seconds(0)).optional(),
  range: z
    .tuple([seconds(0), seconds(0).optional()])
    .refine(([start, end]) => end === undefined || end > start)
    .describe("two increasing numbers of seconds, [start, end], or [start]")
    .optional(),
  onProgress: callback<(progress: TranscriptionProgress) => void>().optional(),
});

const liveSchema = z.strictObject({
  ...speechFields,
  timestamps: z.enum(["segment", "word"]).optional(),
  partialEvery: seconds(0).optional(),
  pause: numberIn(0.1, 5).optional(),
});

const loadSchema = z.strictObject(commonLoadFields);

/** @throws OptionError */
export function parseWhisperLoadOptions(value: unknown): WhisperLoadOptions {
  return parseOptions(loadSchema, value === undefined ? {} : value);
}

/** @throws OptionError */
export function parseWhisperOptions(value: unknown): WhisperOptions {
  return parseOptions(callSchema, value === undefined ? {} : value);
}

/** @throws OptionError */
export function parseLiveOptions(value: unknown): LiveOptions {
  return parseOptions(liveSchema, value === undefined ? {} : value);
}
