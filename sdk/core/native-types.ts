/**
 * The shape of the native addon: the one description that both sides follow.
 * C++ side: `native/src/addon/*_binding.cpp`. The addon trusts its input; TypeScript validates first.
 */

/** Codes that native errors carry in `error.code`; `errors.ts` maps them to classes. */
export type NativeErrorCode =
  "model" | "unsupported" | "device" | "context-length" | "option" | "disposed" | "aborted" | "native";

/** An `Error` made by the addon. `details` depends on the code (see `errors.ts`). */
export interface NativeErrorShape extends Error {
  code: NativeErrorCode;
  details?: {
    /** model: the file or folder concerned. */
    file?: string;
    /** unsupported: architecture, tensor type or feature. device: the device asked for. option: the option's path. */
    subject?: string;
    /** device: device names that exist. */
    available?: string[];
    /** context-length: what fits, in tokens. */
    limit?: number;
    /** context-length: what was asked for, in tokens. */
    requested?: number;
  };
}

export interface NativeDevice {
  /** OpenVINO name, for example `CPU` or `GPU.0`. */
  name: string;
  /** `FULL_DEVICE_NAME`. */
  fullName: string;
  /** `OPTIMIZATION_CAPABILITIES`, for example `FP32`, `INT8`, `BF16`, `EXPORT_IMPORT`. */
  capabilities: string[];
  /** Bytes, where the device reports it (GPU). */
  memoryBytes?: number;
}

export interface NativeSystemInfo {
  cpuModel: string;
  /** The flags that matter to the kernels: `avx2`, `avx512f`, `avx512_vnni`, `avx512_bf16`, `amx_int8`, ... */
  cpuFlags: string[];
  totalMemoryBytes: number;
  availableMemoryBytes: number;
}

export type NativeModelSource =
  | { kind: "ir"; xml: string; bin: string }
  /** All shards in order; a whole file is a list of one. */
  | { kind: "gguf"; files: string[] };

/** A graph in OpenVINO IR. */
export interface NativeGraphFiles {
  xml: string;
  bin: string;
  /** Identity of the files (paths, sizes, mtimes); part of the key under which compiled graphs are shared and cached. */
  modelKey: string;
}

export interface NativeGeneratorOptions {
  source: NativeModelSource;
  /** For a model that takes `inputs_embeds`: makes rows `[n, hidden]` of token ids. */
  embeddings?: NativeGraphFiles;
  /** Makes the rows of generated tokens where those are not of the text vocabulary (Janus's image tokens). Defaults to `embeddings`. */
  generatedEmbeddings?: NativeGraphFiles;
  /** For a model that gives hidden states: makes logits of rows `[n, hidden]`. */
  head?: NativeGraphFiles;
  device: string;
  /** OpenVINO properties, passed through (`INFERENCE_PRECISION_HINT`, `NUM_STREAMS`, ...). */
  properties: Record<string, string | number | boolean>;
  /** `auto`: paged, and stateful where the paged transformation fails. */
  attention: "auto" | "paged" | "stateful";
  /** `file`: the file's own weight values. `int8`: matrix weights re-rounded, symmetric, per group. */
  weights: "file" | "int8";
  /** Limits of the KV cache; with neither `bytes` nor `tokens` the engine plans from free memory. */
  kvCache: { bytes?: number; tokens?: number; precision?: "f32" | "f16" | "bf16" | "u8" };
  /** The model's own context length in tokens (0 = unknown). */
  contextLength: number;
  /** Folder for exported blobs; empty string = no compile cache. */
  cacheDir: string;
  /** Identity of the model files (paths, sizes, mtimes, SDK version); part of the blob's key and of the sharing key. */
  modelKey: string;
  prefixCaching: boolean;
  /** Prompt tokens computed in one inference at most. */
  maxBatchTokens: number;
  /** Sequences in one inference at most. */
  maxBatchSequences: number;
  /** Run a few steps before `openGenerator` resolves. */
  warmUp: boolean;
}

export interface NativeGeneratorInfo {
  attention: "paged" | "stateful";
  device: string;
  /** Length of a row of logits. */
  vocabSize: number;
  /** Length of an embedding row; 0 where the model takes token ids. */
  hiddenSize: number;
  /** Tokens in a KV block (paged); 1 for stateful. */
  blockSize: number;
  kvPrecision: string;
  kvBytesPerToken: number;
  /** Most tokens that the KV cache may ever hold. */
  kvCapacityTokens: number;
  /** Most tokens one request may have: the smaller of `contextLength` and the KV capacity. */
  maxRequestTokens: number;
  /** Compiled model came from the blob cache. */
  fromCache: boolean;
  /** Compiled model was already open in this process and is shared. */
  shared: boolean;
  /** Why `attention: "auto"` fell back to stateful; empty otherwise. */
  fallbackReason: string;
  timings: { readMs: number; convertMs: number; compileMs: number; importMs: number; warmUpMs: number };
}

/** Counters of a generator since it was opened, and its state now. */
export interface NativeGeneratorStats {
  /** Requests that take part in inferences. */
  running: number;
  /** Requests that wait for their turn or for KV blocks. */
  waiting: number;
  /** Inferences so far. */
  steps: number;
  preemptions: number;
  /** Prompt tokens found in the prefix cache, over all requests. */
  cachedTokens: number;
  promptTokens: number;
  generatedTokens: number;
  blocksTotal: number;
  blocksUsed: number;
  /** Blocks that no request uses but whose content may still be reused. */
  blocksCached: number;
  /** Bytes of KV memory allocated at the moment. */
  kvBytes: number;
  /** Time spent inside inference calls, in ms. */
  inferMs: number;
  /** Time spent in the sampler, in ms. */
  sampleMs: number;
}

export interface NativeSampling {
  /** 0 = greedy. */
  temperature: number;
  /** 0 = off. */
  topK: number;
  /** 1 = off. */
  topP: number;
  /** 0 = off. */
  minP: number;
  /** 1 = off. */
  repetitionPenalty: number;
  presencePenalty: number;
  frequencyPenalty: number;
  /** Pairs, added to the raw logits. */
  logitBias: [token: number, bias: number][];
  /** 0 ... 2^53-1. */
  seed: number;
  /** -1 = none; 0 = only the chosen token's; n = also the n best. */
  logprobs: number;
}

/** Rows that stand in a prompt where its tokens are placeholders: features of a picture. */
export interface NativePromptRows {
  /** Index of the first placeholder in `promptIds`. */
  start: number;
  count: number;
  /** `[count, hiddenSize]`; copied at once. */
  rows: Float32Array;
  /** Identity of the content, at least 16 hexadecimal digits: equal keys mean equal rows (prefix caching relies on it). */
  key: string;
}

/** Positions that are not 0, 1, 2, ... (multimodal rotary embedding). */
export interface NativePositions {
  /** Positions of each token: 3 for Qwen-VL. */
  axes: number;
  /** `[axes, prompt tokens]`. */
  values: Int32Array;
  /** Added to a generated token's index in the sequence, on all axes. */
  delta: number;
}

/** Classifier-free guidance: logits are `unconditional + scale * (conditional - unconditional)`. */
export interface NativeGuidance {
  scale: number;
  /** The unconditional prompt, as long as the request's. */
  promptIds: Int32Array;
}

export interface NativeRequest {
  promptIds: Int32Array;
  /** In order, not overlapping. Only for models that take `inputs_embeds`, like the two below. */
  promptRows?: NativePromptRows[];
  positions?: NativePositions;
  /** Costs a second row in each inference. */
  guidance?: NativeGuidance;
  /** At least 1. */
  maxNewTokens: number;
  minNewTokens: number;
  /** End the answer; not part of its tokens. With `ignoreEos` the caller passes the remaining ones only. */
  stopTokenIds: number[];
  sampling: NativeSampling;
}

/** Events of all generators of this JavaScript environment, in order, in batches. */
export type NativeEvent =
  | {
      type: "progress";
      load: number;
      stage: "read" | "convert" | "compile" | "import" | "export" | "warm-up";
      fraction: number;
    }
  | { type: "start"; request: number; cachedTokens: number }
  | {
      type: "tokens";
      request: number;
      ids: number[];
      /** One entry a token, when asked for: natural log of the model's own (raw) distribution. */
      logprobs?: { logprob: number; top: [token: number, logprob: number][] }[];
    }
  | {
      type: "end";
      request: number;
      /** `stop`: a stop token (its id in `stopToken`). `length`: `maxNewTokens` or the context is used up. `stopped`: `stop(id)` was called. */
      reason: "stop" | "length" | "stopped";
      stopToken?: number;
      timings: NativeRequestTimings;
    }
  | { type: "error"; request: number; error: NativeErrorShape };

export interface NativeRequestTimings {
  /** Submit to first inference. */
  queueMs: number;
  /** First inference to first token. */
  prefillMs: number;
  /** First token to last token. */
  decodeMs: number;
  /** Submit to first token; 0 when there was none. */
  firstTokenMs: number;
  /** Times this request was preempted and recomputed. */
  preemptions: number;
}

export interface NativeGenerator {
  readonly info: NativeGeneratorInfo;
  /** Queues a request and returns its id; events follow, ending with exactly one `end` or `error`. Throws `disposed` after `close()`. */
  submit(request: NativeRequest): number;
  /** Asks a request to end; its `end` event comes when it has left the batch. Unknown or ended ids are ignored. */
  stop(request: number): void;
  stats(): NativeGeneratorStats;
  /** Stops every request (each still gets its last event) and resolves when the scheduler thread has ended and memory is given back. */
  close(): Promise<void>;
}

export interface NativeTensor {
  /** Port of the graph; without a name tensors go to the ports in order. */
  name?: string;
  shape: number[];
  /** Converted to the port's element type (`Int32Array` for i64 ports as well). Outputs: `Float32Array`, or `Int32Array` for whole numbers. */
  data: Float32Array | Int32Array | Uint8Array;
}

export interface NativePort {
  /** May be empty. */
  names: string[];
  /** OpenVINO name: `f32`, `i64`, ... */
  type: string;
  /** -1 = dynamic. */
  shape: number[];
}

export interface NativeGraphOptions extends NativeGraphFiles {
  device: string;
  properties: Record<string, string | number | boolean>;
  /** Folder for exported blobs; empty string = no compile cache. */
  cacheDir: string;
}

export interface NativeGraphInfo {
  device: string;
  inputs: NativePort[];
  outputs: NativePort[];
  fromCache: boolean;
  shared: boolean;
  timings: { readMs: number; compileMs: number; importMs: number };
}

/** A compiled model that keeps nothing between inferences: encoders, projectors, decoders of pictures. */
export interface NativeGraph {
  readonly info: NativeGraphInfo;
  /** Runs in a thread of its own; calls run one after the other, in order. Rejects with `aborted` after `stop(job)`. */
  infer(inputs: NativeTensor[]): { job: number; promise: Promise<NativeTensor[]> };
  /** Cuts an inference short, or takes a waiting one out; unknown jobs are ignored. */
  stop(job: number): void;
  /** Cuts running inferences short and gives memory back. */
  close(): Promise<void>;
}

/** Kernels of Pillow's resampling. */
export type NativeResizeFilter = "bilinear" | "bicubic" | "lanczos";

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
  /** `stopped`: `stop()` was called; `ids` holds what had come. */
  reason: "stop" | "length" | "stopped";
  /** Sum of natural logarithms of the chosen tokens' probabilities under the rules, `<|endoftext|>` included. */
  sumLogprob: number;
  /** Probability of `<|nospeech|>` after `<|startoftranscript|>`, over the whole vocabulary, without rules. 0 where there is none. */
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

export interface NativeTranscriber {
  readonly info: NativeTranscriberInfo;
  /** Encodes windows, one after the other; gives handles that must be released. Ends early when `stop(job)` is called: then fewer handles. */
  encode(windows: NativeWindow[]): { job: number; promise: Promise<number[]> };
  /** Softmax over `ids` alone after `<|startoftranscript|>`, a row for each window, and the no-speech probability. */
  detect(windows: number[], ids: Int32Array): Promise<{ probabilities: Float32Array; noSpeechProb: number }[]>;
  /** Decodes windows together; results in the order of the inputs. */
  decode(
    inputs: NativeDecodeInput[],
    options: NativeDecodeOptions,
  ): { job: number; promise: Promise<NativeDecoding[]> };
  align(inputs: NativeAlignInput[]): Promise<NativeAlignment[]>;
  /** Asks a job to end between steps; unknown jobs are ignored. */
  stop(job: number): void;
  /** Gives encoded windows back. */
  release(windows: number[]): void;
  /** Milliseconds spent so far, by stage, and counts. */
  stats(): NativeTranscriberStats;
  /** Ends running work and gives all memory back. */
  close(): Promise<void>;
}

export interface NativeTranscriberStats {
  encodedWindows: number;
  encodeMs: number;
  /** Prompt inferences, decoding steps (inferences), tokens over all rows, and their times. */
  prefillMs: number;
  decodeSteps: number;
  decodedTokens: number;
  decodeMs: number;
  sampleMs: number;
  alignMs: number;
}

export interface NativeAddon {
  readonly info: { abi: number; runtime: string; build: string };
  /** Sets the one receiver of events of this environment. The addon keeps the event loop alive only while a request or load runs. */
  setEventHandler(handler: (events: NativeEvent[]) => void): void;
  listDevices(): Promise<NativeDevice[]>;
  systemInfo(): NativeSystemInfo;
  /** Starts loading. `load` appears in progress events and is what `abortLoad` takes (rejects with code `aborted`). */
  openGenerator(options: NativeGeneratorOptions): { load: number; promise: Promise<NativeGenerator> };
  openTranscriber(options: NativeTranscriberOptions): { load: number; promise: Promise<NativeTranscriber> };
  openGraph(options: NativeGraphOptions): { load: number; promise: Promise<NativeGraph> };
  abortLoad(load: number): void;
  /**
   * Cuts short all work of this JavaScript environment and waits for it. For the end of the process: promises do not settle any more,
   * and nothing can be started afterwards.
   */
  shutDown(): void;
  /**
   * Antialiased resize of 8-bit RGB pixels (rows of `width * 3` bytes), equal to Pillow's `Image.resize` bit by bit, in threads of
   * the addon. `pixels` must not change until the promise resolves.
   */
  resizeImage(
    pixels: Uint8Array,
    size: { width: number; height: number },
    target: { width: number; height: number },
    filter: NativeResizeFilter,
  ): Promise<Uint8Array>;
  /** A spectrogram without a model. `bins`: 80 or 128 (any count works). */
  createLogMel(bins: number): NativeLogMel;
}

/** Raised when the addon's and the SDK's idea of this file differ. */
export const NATIVE_ABI = 3;
