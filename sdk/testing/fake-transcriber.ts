import type {
  NativeAlignInput,
  NativeAlignment,
  NativeDecodeInput,
  NativeDecodeOptions,
  NativeDecoding,
  NativeDetection,
  NativeErrorShape,
  NativeJob,
  NativeTimed,
  NativeTranscriber,
  NativeTranscriberInfo,
  NativeTranscriberTimings,
  NativeWindow,
} from "../core/native-types.js";
import { fakeNativeError } from "./fake-generator.js";

/** A window and how it is to be decoded, as a script sees it. */
export interface FakeDecodeRequest {
  window: NativeWindow;
  prompt: number[];
  sotIndex: number;
  seed: number;
  /** Tokens at the prompt's end that belong to the text. */
  prefixLength: number;
  options: NativeDecodeOptions;
}

/** What the scripted model hears. */
export interface FakeDecoding {
  ids: number[];
  /** Mean natural logarithm of the probabilities, `<|endoftext|>` counted. Defaults to -0.2. */
  avgLogprob?: number;
  /** Defaults to 0.01. */
  noSpeechProb?: number;
}

/** A model made of functions. What is left out hears nothing, knows the first language, and gives every token 10 frames. */
export interface FakeTranscriberScript {
  decode?: (request: FakeDecodeRequest) => FakeDecoding;
  detect?: (window: NativeWindow, ids: number[]) => { probabilities: number[]; noSpeechProb?: number };
  align?: (window: NativeWindow, input: NativeAlignInput) => { starts: number[]; probabilities: number[] };
  /** `encode` rejects with this. */
  encodeError?: NativeErrorShape;
}

type Stop = { stopped: boolean };

/**
 * A transcriber that follows a script. Calls run one after the other; a decoding takes one turn of the event loop a token, so
 * that it can be stopped on the way. {@link hold} keeps calls from beginning.
 */
export class FakeTranscriber implements NativeTranscriber {
  readonly info: NativeTranscriberInfo;
  /** Windows that were encoded, in order. */
  readonly encoded: NativeWindow[] = [];
  /** Every call of `decode`, in order. */
  readonly decodes: { inputs: NativeDecodeInput[]; options: NativeDecodeOptions }[] = [];
  readonly aligned: NativeAlignInput[] = [];
  /** Calls of `detect`. */
  detections = 0;
  /** Steps of all decodings so far. */
  decodeSteps = 0;
  closed = false;
  readonly #script: FakeTranscriberScript;
  readonly #nextId: () => number;
  readonly #windows = new Map<number, NativeWindow>();
  readonly #jobs = new Map<number, Stop>();
  #queue: Promise<unknown> = Promise.resolve();
  #gate: Promise<void> = Promise.resolve();
  #open: () => void = () => undefined;
  #closing = false;

  constructor(info: NativeTranscriberInfo, script: FakeTranscriberScript, nextId: () => number) {
    this.info = info;
    this.#script = script;
    this.#nextId = nextId;
  }

  /** Handles that were not released. */
  get windowsHeld(): number {
    return this.#windows.size;
  }

  /** Calls that have not ended. */
  get jobsRunning(): number {
    return this.#jobs.size;
  }

  /** Calls wait until {@link letGo}. */
  hold(): void {
    this.#gate = new Promise((resolve) => (this.#open = resolve));
  }

  letGo(): void {
    this.#open();
  }

  encode(windows: NativeWindow[]): NativeJob<NativeTimed<number[]>> {
    return this.#job(async (stop, timings) => {
      if (this.#script.encodeError) throw this.#script.encodeError;
      const handles: number[] = [];
      for (const window of windows) {
        if (this.#ends(stop)) break;
        await turn();
        const handle = this.#nextId();
        this.#windows.set(handle, window);
        this.encoded.push(window);
        timings.encodeMs += 10;
        handles.push(handle);
      }
      return handles;
    });
  }

  detect(windows: number[], ids: Int32Array): NativeJob<NativeTimed<NativeDetection[]>> {
    this.detections++;
    return this.#job(async () => {
      await turn();
      return windows.map((handle) => {
        const found = this.#script.detect?.(this.#window(handle), [...ids]);
        const probabilities = found?.probabilities ?? Array.from(ids, (_, index) => (index === 0 ? 1 : 0));
        return { probabilities: Float32Array.from(probabilities), noSpeechProb: found?.noSpeechProb ?? 0.01 };
      });
    });
  }

  decode(inputs: NativeDecodeInput[], options: NativeDecodeOptions): NativeJob<NativeTimed<NativeDecoding[]>> {
    const length = inputs[0]!.prompt.length;
    if (inputs.some(({ prompt, sotIndex }) => prompt.length !== length || sotIndex !== inputs[0]!.sotIndex)) {
      throw fakeNativeError("option", "prompts must have one length");
    }
    if (length >= this.info.maxPositions) throw fakeNativeError("option", "the prompt is too long");
    this.decodes.push({ inputs, options });
    return this.#job(async (stop, timings) => {
      const most = Math.min(options.maxNewTokens, this.info.maxPositions - length);
      const answers = inputs.map((input) => {
        const { sotIndex, seed, prefixLength = 0 } = input;
        return (
          this.#script.decode?.({
            window: this.#window(input.window),
            prompt: [...input.prompt],
            sotIndex,
            seed,
            prefixLength,
            options,
          }) ?? { ids: [] }
        );
      });
      const longest = Math.min(most, Math.max(...answers.map(({ ids }) => ids.length)));
      let step = 0;
      timings.prefillMs += 5;
      while (step < longest && !this.#ends(stop)) {
        await turn();
        step++;
        this.decodeSteps++;
        timings.steps++;
        timings.decodeMs += 2;
      }
      return answers.map(({ ids, avgLogprob = -0.2, noSpeechProb = 0.01 }): NativeDecoding => {
        const kept = ids.slice(0, step);
        const cut = kept.length < ids.length;
        return {
          ids: Int32Array.from(kept),
          reason: !cut ? "stop" : step < most ? "stopped" : "length",
          sumLogprob: avgLogprob * (kept.length + 1),
          noSpeechProb,
        };
      });
    });
  }

  align(inputs: NativeAlignInput[]): NativeJob<NativeTimed<NativeAlignment[]>> {
    return this.#job(async (_stop, timings) => {
      await turn();
      timings.alignMs += 3;
      return inputs.map((input) => {
        this.aligned.push(input);
        const words = input.ids.length - input.sotLength - 2;
        const found = this.#script.align?.(this.#window(input.window), input) ?? {
          starts: Array.from({ length: words + 1 }, (_, index) => index * 10),
          probabilities: Array.from({ length: words }, () => 0.9),
        };
        return { starts: Int32Array.from(found.starts), probabilities: Float32Array.from(found.probabilities) };
      });
    });
  }

  /** What the addon's `stop` does. */
  stop(job: number): void {
    const found = this.#jobs.get(job);
    if (found) found.stopped = true;
  }

  release(windows: number[]): void {
    for (const window of windows) this.#windows.delete(window);
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.letGo();
    await this.#queue;
    this.#windows.clear();
    this.closed = true;
  }

  #ends(stop: Stop): boolean {
    return stop.stopped || this.#closing;
  }

  #window(handle: number): NativeWindow {
    const window = this.#windows.get(handle);
    if (!window) throw fakeNativeError("option", `there is no encoded window ${handle}`);
    return window;
  }

  #job<Value>(work: (stop: Stop, timings: NativeTranscriberTimings) => Promise<Value>): NativeJob<NativeTimed<Value>> {
    const job = this.#nextId();
    const stop: Stop = { stopped: false };
    const timings = { encodeMs: 0, prefillMs: 0, decodeMs: 0, alignMs: 0, steps: 0 };
    this.#jobs.set(job, stop);
    const promise = this.#queue.then(async () => {
      try {
        await this.#gate;
        if (this.#closing) throw fakeNativeError("disposed", "this transcriber is closed");
        return { value: await work(stop, timings), timings };
      } finally {
        this.#jobs.delete(job);
      }
    });
    this.#queue = promise.catch(() => undefined);
    return { job, promise };
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
