import type { NativeJob } from "./native-job-types.js";

/** The transcriber's part of the native addon's description (`native-types.ts`). C++ side: `native/src/addon/transcriber_binding.cpp`. */

/** Ids with a meaning of their own in a Whisper vocabulary. */
export interface NativeWhisperTokens {
  endOfText: number;
  startOfTranscript: number;
  noTimestamps: number;
  /** `<|0.00|>`; every id from here on is a time in steps of 0.02 s. */
  timestampBegin: number;
  /** `<|nospeech|>`; -1 where the vocabulary has none. */
  noSpeech: number;
}

export interface NativeTranscriberOptions {
  encoder: { xml: string; bin: string };
  decoder: { xml: string; bin: string };
  device: string;
  properties: Record<string, string | number | boolean>;
  cacheDir: string;
  /** Identity of the model files, as in {@link NativeGeneratorOptions}. */
  modelKey: string;
  /** Bands of the log-mel spectrogram: 80 or 128. */
  melBins: number;
  /** `max_target_positions` of config.json: 448. */
  maxPositions: number;
  tokens: NativeWhisperTokens;
  /** Cross-attention heads that follow the audio; empty: `align` is not possible. */
  alignmentHeads: [layer: number, head: number][];
  warmUp: boolean;
}

export interface NativeTranscriberInfo {
  device: string;
  vocabSize: number;
  /** Mel frames the encoder takes: 3000. */
  windowFrames: number;
  /** Decoder positions, prompt included: 448. */
  maxPositions: number;
  fromCache: boolean;
  shared: boolean;
  timings: { readMs: number; convertMs: number; compileMs: number; importMs: number; warmUpMs: number };
}

/**
 * Log-mel spectrogram of audio that arrives in pieces (16 kHz mono), computed in threads of the addon. 100 frames a second.
 * Windows are read with Whisper's scaling: `max(x, peak - 8)`, `(x + 4) / 4`, where `peak` is the greatest value of all frames so far.
 */
export interface NativeLogMel {
  readonly bins: number;
  /** Complete frames so far; after `finish()`: samples / 160 (rounded down). */
  readonly frames: number;
  /** Frame that the first stored one is; grows with `discard`. */
  readonly firstFrame: number;
  /** Computes the frames that these samples complete. Calls run in order; the array may be reused once the promise resolves. */
  append(samples: Float32Array): Promise<void>;
  /** Ends the audio (reflection at the end); nothing can be appended afterwards. */
  finish(): Promise<void>;
  /** Forgets frames before `frame` (live audio of any length). */
  discard(frame: number): void;
  /** Scaled values `[bins, length]` row by row of frames `start .. start+count`; the rest up to `length` is `padding`. */
  read(start: number, count: number, length: number, padding: number): Float32Array;
}

/** A window to encode: `count` frames from `start`, filled up to the encoder's length with 0 (in the scaled domain). */
export interface NativeWindow {
  mel: NativeLogMel;
  start: number;
  count: number;
}

/** One window to decode. All inputs of one `decode` call must have prompts of the same length. */
export interface NativeDecodeInput {
  /** Handle from `encode`. */
  window: number;
  /** The whole decoder prompt: previous text, `<|startoftranscript|>`, language, task, `<|notimestamps|>`. */
  prompt: Int32Array;
  /** Index of `<|startoftranscript|>` in `prompt`. */
  sotIndex: number;
  seed: number;
  /** Tokens at the prompt's end that belong to the text already: the rules go on from them, and the next token is not the end. Defaults to 0. */
  prefixLength?: number;
}

export interface NativeDecodeOptions {
  /** Tokens after the prompt, at least 1; the model's positions bound it as well. */
  maxNewTokens: number;
  /** 0 = greedy (or beams). */
  temperature: number;
  /** Independent samples of each window, of which the likeliest is kept; only with `temperature` > 0. */
  bestOf: number;
  /** 1 = no beam search; only with `temperature` 0. */
  beamSize: number;
  /** Beams end when `beamSize * patience` are finished. */
  patience: number;
  /** Exponent of length in the ranking of beams and samples: `null` = divide by length, else Google's rule. */
  lengthPenalty: number | null;
  /** Timestamp rules apply (`true`) or not (prompt ends in `<|notimestamps|>`). */
  timestamps: boolean;
  /** Greatest first timestamp in steps of 0.02 s; -1 = none. */
  maxInitialTimestamp: number;
  suppressTokens: Int32Array;
  beginSuppressTokens: Int32Array;
}

export interface NativeDecoding {
  /** Without the prompt and `<|endoftext|>`. */
  ids: Int32Array;
  /** `stopped`: the job was stopped; `ids` holds what had come. */
  reason: "stop" | "length" | "stopped";
  /** Sum of natural logarithms of the chosen tokens' probabilities under the rules, `<|endoftext|>` included. */
  sumLogprob: number;
  /** Probability of `<|nospeech|>` after `<|startoftranscript|>`, over the whole vocabulary, without rules. 0 where there is none. */
  noSpeechProb: number;
}

export interface NativeDetection {
  /** Of the tokens that were asked for, in their order. */
  probabilities: Float32Array;
  noSpeechProb: number;
}

/** Teacher-forced text for word times. */
export interface NativeAlignInput {
  window: number;
  /** Real mel frames of the window. */
  frames: number;
  /** `<|startoftranscript|>` and what belongs to it, `<|notimestamps|>`, text ids without timestamps, `<|endoftext|>`. */
  ids: Int32Array;
  /** Tokens before `<|notimestamps|>`. */
  sotLength: number;
}

export interface NativeAlignment {
  /** For each text token and the closing `<|endoftext|>`: the encoder frame (0.02 s) in which it begins. Length: text ids + 1. */
  starts: Int32Array;
  /** Probability of each text token under teacher forcing, over the vocabulary below `<|endoftext|>`. */
  probabilities: Float32Array;
}

/** What one call took, in ms: of its own work, not of others' that it waited for. What it did not do is 0. */
export interface NativeTranscriberTimings {
  encodeMs: number;
  /** Inferences of prompts. */
  prefillMs: number;
  /** Inferences after the prompt's, and choosing tokens. */
  decodeMs: number;
  alignMs: number;
  /** Inferences after the prompt's. */
  steps: number;
}

/** A result with its own times. */
export interface NativeTimed<Value> {
  value: Value;
  timings: NativeTranscriberTimings;
}

/** Calls run one after the other, in order. */
export interface NativeTranscriber {
  readonly info: NativeTranscriberInfo;
  /** Steps of the decoder so far, over all calls: tells a waiting caller that there is progress. */
  readonly decodeSteps: number;
  /** Encodes windows, one after the other; gives handles that must be released. Ends early when it is stopped: then fewer handles. */
  encode(windows: NativeWindow[]): NativeJob<NativeTimed<number[]>>;
  /** Softmax over `ids` alone after `<|startoftranscript|>`, a row for each window, and the no-speech probability. */
  detect(windows: number[], ids: Int32Array): NativeJob<NativeTimed<NativeDetection[]>>;
  /** Decodes windows together; results in the order of the inputs. Stopped, it ends between steps with what there is. */
  decode(inputs: NativeDecodeInput[], options: NativeDecodeOptions): NativeJob<NativeTimed<NativeDecoding[]>>;
  align(inputs: NativeAlignInput[]): NativeJob<NativeTimed<NativeAlignment[]>>;
  /** Gives encoded windows back. */
  release(windows: number[]): void;
  /** Ends running work and gives all memory back. */
  close(): Promise<void>;
}
