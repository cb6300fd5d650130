import {
  NATIVE_ABI,
  type NativeAddon,
  type NativeDevice,
  type NativeErrorShape,
  type NativeEvent,
  type NativeGenerator,
  type NativeGeneratorInfo,
  type NativeGeneratorOptions,
  type NativeGraph,
  type NativeGraphInfo,
  type NativeGraphOptions,
  type NativeJob,
  type NativeLogMel,
  type NativeResizeFilter,
  type NativeSystemInfo,
  type NativeTranscriber,
  type NativeTranscriberInfo,
  type NativeTranscriberOptions,
} from "../core/native-types.js";
import { fakeNativeError, FakeGenerator, type FakeAnswers } from "./fake-generator.js";
import { FakeGraph, graphName, type FakeGraphScripts } from "./fake-graph.js";
import { FakeLogMel } from "./fake-log-mel.js";
import { FakeTranscriber, type FakeTranscriberScript } from "./fake-transcriber.js";

export { fakeNativeError, FakeGenerator, type FakeAnswer, type FakeAnswers } from "./fake-generator.js";
export { FakeGraph, type FakeGraphScript, type FakeGraphScripts } from "./fake-graph.js";
export { FakeTranscriber, type FakeTranscriberScript } from "./fake-transcriber.js";

/** How the fake addon behaves. */
export interface FakeNativeOptions {
  /** The answer to each request. Defaults to an answer without tokens. */
  answers?: FakeAnswers;
  devices?: NativeDevice[];
  /** Changes to what generators say about themselves. */
  info?: Partial<NativeGeneratorInfo>;
  /** What graphs compute. */
  graphs?: FakeGraphScripts;
  /** Changes to what graphs say about themselves, by name as in `graphs`. */
  graphInfo?: Record<string, Partial<NativeGraphInfo>>;
  /** What transcribers hear. */
  hears?: FakeTranscriberScript;
  /** Changes to what transcribers say about themselves. */
  transcriberInfo?: Partial<NativeTranscriberInfo>;
  /** Loading fails with this. */
  loadError?: NativeErrorShape;
  /** `info.abi` of the addon. */
  abi?: number;
}

const CPU: NativeDevice = { name: "CPU", fullName: "Fake CPU", capabilities: ["FP32", "EXPORT_IMPORT"] };

/** One call of `resizeImage`. */
export interface FakeResize {
  size: { width: number; height: number };
  target: { width: number; height: number };
  filter: NativeResizeFilter;
}

interface Load {
  id: number;
  finish(): void;
  abort(): void;
}

/**
 * An addon made of scripts, for unit tests of everything above the native core. It keeps to the contract of
 * `native-types.ts`: events in order and in batches, never inside a call; exactly one last event for a request;
 * `close()` ends requests first; jobs can be stopped.
 */
export class FakeNative implements NativeAddon {
  readonly info: NativeAddon["info"];
  /** Every generator that was opened, in order. */
  readonly generators: FakeGenerator[] = [];
  /** Options of every load, in order. */
  readonly loads: NativeGeneratorOptions[] = [];
  /** Every graph that was opened, in order. */
  readonly graphs: FakeGraph[] = [];
  /** Every call of `resizeImage`, in order. */
  readonly resizes: FakeResize[] = [];
  /** Every transcriber that was opened, with the options of its load. */
  readonly transcribers: FakeTranscriber[] = [];
  readonly transcriberLoads: NativeTranscriberOptions[] = [];
  /** Every spectrogram that was made, in order. */
  readonly spectrograms: FakeLogMel[] = [];
  /** Calls of `listDevices`. */
  deviceListings = 0;
  readonly #options: FakeNativeOptions;
  readonly #pending = new Map<number, Load>();
  #handler: ((events: NativeEvent[]) => void) | undefined;
  #lastId = 0;
  #holdLoads = false;

  constructor(options: FakeNativeOptions = {}) {
    this.#options = options;
    this.info = { abi: options.abi ?? NATIVE_ABI, runtime: "fake", build: "fake" };
  }

  /** The generator opened last. */
  get generator(): FakeGenerator {
    const last = this.generators.at(-1);
    if (!last) throw new Error("no generator was opened");
    return last;
  }

  /** The graph opened last from a file of this name (without its ending). */
  graph(name: string): FakeGraph {
    const last = this.graphs.findLast((graph) => graph.name === name);
    if (!last) throw new Error(`no graph ${name} was opened`);
    return last;
  }

  /** The transcriber opened last. */
  get transcriber(): FakeTranscriber {
    const last = this.transcribers.at(-1);
    if (!last) throw new Error("no transcriber was opened");
    return last;
  }

  /** Loads wait until {@link releaseLoads}. */
  holdLoads(): void {
    this.#holdLoads = true;
  }

  releaseLoads(): void {
    this.#holdLoads = false;
    for (const load of [...this.#pending.values()]) load.finish();
  }

  setEventHandler(handler: (events: NativeEvent[]) => void): void {
    this.#handler = handler;
  }

  listDevices(): Promise<NativeDevice[]> {
    this.deviceListings++;
    return Promise.resolve(this.#options.devices ?? [CPU]);
  }

  systemInfo(): NativeSystemInfo {
    return { cpuModel: "Fake CPU", cpuFlags: ["avx2"], totalMemoryBytes: 16e9, availableMemoryBytes: 8e9 };
  }

  openGenerator(options: NativeGeneratorOptions): NativeJob<NativeGenerator> {
    this.loads.push(options);
    return this.#load(() => this.#open(options));
  }

  openTranscriber(options: NativeTranscriberOptions): NativeJob<NativeTranscriber> {
    this.transcriberLoads.push(options);
    return this.#load(() => this.#openTranscriber(options));
  }

  openGraph(options: NativeGraphOptions): NativeJob<NativeGraph> {
    return this.#load(() => this.#openGraph(options));
  }

  /** Takes the nearest pixel: enough to tell which one came from where. */
  resizeImage(
    pixels: Uint8Array,
    size: { width: number; height: number },
    target: { width: number; height: number },
    filter: NativeResizeFilter,
  ): NativeJob<Uint8Array> {
    this.resizes.push({ size, target, filter });
    const resized = new Uint8Array(target.width * target.height * 3);
    for (let y = 0; y < target.height; y++) {
      for (let x = 0; x < target.width; x++) {
        const row = Math.floor((y * size.height) / target.height);
        const column = Math.floor((x * size.width) / target.width);
        const from = (row * size.width + column) * 3;
        resized.set(pixels.subarray(from, from + 3), (y * target.width + x) * 3);
      }
    }
    return { job: ++this.#lastId, promise: Promise.resolve(resized) };
  }

  createLogMel(bins: number): NativeLogMel {
    const mel = new FakeLogMel(bins);
    this.spectrograms.push(mel);
    return mel;
  }

  shutDown(): void {
    // Nothing runs in threads here.
  }

  stop(job: number): void {
    setImmediate(() => this.#pending.get(job)?.abort());
    for (const owner of [...this.generators, ...this.graphs, ...this.transcribers]) owner.stop(job);
  }

  #load<Opened>(open: () => Opened): NativeJob<Opened> {
    const id = ++this.#lastId;
    const promise = new Promise<Opened>((resolve, reject) => {
      this.#pending.set(id, {
        id,
        finish: () => {
          this.#pending.delete(id);
          if (this.#options.loadError) reject(this.#options.loadError);
          else {
            this.#emit([{ type: "progress", job: id, stage: "warm-up", fraction: 1 }]);
            resolve(open());
          }
        },
        abort: () => {
          this.#pending.delete(id);
          reject(fakeNativeError("aborted", "the load was aborted"));
        },
      });
    });
    setImmediate(() => {
      if (!this.#pending.has(id)) return;
      this.#emit([
        { type: "progress", job: id, stage: "read", fraction: 1 },
        { type: "progress", job: id, stage: "compile", fraction: 0.5 },
      ]);
      if (!this.#holdLoads) this.#pending.get(id)?.finish();
    });
    return { job: id, promise };
  }

  #openGraph(options: NativeGraphOptions): FakeGraph {
    const name = graphName(options);
    const graph = new FakeGraph({
      options,
      script: this.#options.graphs?.[name],
      info: this.#options.graphInfo?.[name],
      nextId: () => ++this.#lastId,
    });
    this.graphs.push(graph);
    return graph;
  }

  #openTranscriber(options: NativeTranscriberOptions): FakeTranscriber {
    const transcriber = new FakeTranscriber(
      {
        device: options.device,
        vocabSize: 51_864,
        windowFrames: 3000,
        maxPositions: options.maxPositions,
        fromCache: false,
        shared: false,
        timings: { readMs: 1, convertMs: 1, compileMs: 1, importMs: 0, warmUpMs: 1 },
        ...this.#options.transcriberInfo,
      },
      this.#options.hears ?? {},
      () => ++this.#lastId,
    );
    this.transcribers.push(transcriber);
    return transcriber;
  }

  #open(options: NativeGeneratorOptions): FakeGenerator {
    const capacity = options.kvCache.tokens ?? 1_000_000;
    const context = options.contextLength || capacity;
    const generator = new FakeGenerator({
      info: {
        attention: options.attention === "stateful" ? "stateful" : "paged",
        device: options.device,
        vocabSize: 100_000,
        hiddenSize: options.embeddings ? 8 : 0,
        blockSize: 32,
        kvPrecision: options.kvCache.precision ?? "u8",
        kvBytesPerToken: 1000,
        kvCapacityTokens: capacity,
        maxRequestTokens: Math.min(context, capacity),
        fromCache: false,
        shared: false,
        fallbackReason: "",
        timings: { readMs: 1, convertMs: 1, compileMs: 1, importMs: 0, warmUpMs: 1 },
        ...this.#options.info,
      },
      answers: this.#options.answers ?? (() => ({ ids: [] })),
      emit: (events) => this.#emit(events),
      nextId: () => ++this.#lastId,
    });
    this.generators.push(generator);
    return generator;
  }

  #emit(events: NativeEvent[]): void {
    this.#handler?.(events);
  }
}
