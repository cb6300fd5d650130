/**
 * The shape of the native addon: the one description that both sides follow.
 * C++ side: `native/src/addon/*_binding.cpp`. The addon trusts its input; TypeScript validates first.
 */

import type { NativeJob } from "./native-job-types.js";
import type { NativeLogMel, NativeTranscriber, NativeTranscriberOptions } from "./native-transcriber-types.js";

export type * from "./native-job-types.js";
export type * from "./native-transcriber-types.js";

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

/** Events of this JavaScript environment, in order, in batches. */
export type NativeEvent =
  | {
      type: "progress";
      /** Of the load. */
      job: number;
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
      /** `stop`: a stop token (its id in `stopToken`). `length`: `maxNewTokens` or the context is used up. `stopped`: `addon.stop(id)` was called. */
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
  /**
   * Runs in a thread of its own; calls run one after the other, in order. Stopping cuts an inference short, or takes a waiting one
   * out; it rejects with `aborted`.
   */
  infer(inputs: NativeTensor[]): NativeJob<NativeTensor[]>;
  /** Cuts running inferences short and gives memory back. */
  close(): Promise<void>;
}

/** Kernels of Pillow's resampling. */
export type NativeResizeFilter = "bilinear" | "bicubic" | "lanczos";

export interface NativeAddon {
  readonly info: { abi: number; runtime: string; build: string };
  /** Sets the one receiver of events of this environment. The addon keeps the event loop alive only while a request or load runs. */
  setEventHandler(handler: (events: NativeEvent[]) => void): void;
  listDevices(): Promise<NativeDevice[]>;
  systemInfo(): NativeSystemInfo;
  /** Starts loading. Progress events name the job; a load that is stopped rejects with `aborted`. */
  openGenerator(options: NativeGeneratorOptions): NativeJob<NativeGenerator>;
  openTranscriber(options: NativeTranscriberOptions): NativeJob<NativeTranscriber>;
  openGraph(options: NativeGraphOptions): NativeJob<NativeGraph>;
  /**
   * Asks a job or a generator's request to end soon. What comes of it is said where it begins: a request gets its `end` event when it
   * has left the batch. Unknown and ended ones are ignored.
   */
  stop(job: number): void;
  /**
   * Cuts short all work of this JavaScript environment and waits for it. For the end of the process: promises do not settle any more,
   * and nothing can be started afterwards.
   */
  shutDown(): void;
  /**
   * Antialiased resize of 8-bit RGB pixels (rows of `width * 3` bytes), equal to Pillow's `Image.resize` bit by bit, in threads of
   * the addon. `pixels` must not change until the promise resolves. Too short to be stopped.
   */
  resizeImage(
    pixels: Uint8Array,
    size: { width: number; height: number },
    target: { width: number; height: number },
    filter: NativeResizeFilter,
  ): NativeJob<Uint8Array>;
  /** A spectrogram without a model. `bins`: 80 or 128 (any count works). */
  createLogMel(bins: number): NativeLogMel;
}

/** Raised when the addon's and the SDK's idea of this file differ. */
export const NATIVE_ABI = 4;
