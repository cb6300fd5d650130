import type { MetricsClock } from "../core/metrics.js";
import type {
  NativeAlignInput,
  NativeAlignment,
  NativeDecodeInput,
  NativeDecodeOptions,
  NativeDecoding,
  NativeTranscriber,
  NativeTranscriberStats,
  NativeWindow,
} from "../core/native-types.js";
import type { EndKind, StreamControl } from "../core/stream.js";

/** What is needed of a stream's control. */
export type EngineControl = Pick<StreamControl<never>, "ending" | "onEnding">;

type Job<Value> = { job: number; promise: Promise<Value> };

/**
 * One call's use of the native transcriber: its work ends when the call's stream is ended, the windows it encoded are given
 * back at the latest by {@link close}, and its times are counted.
 */
export class WhisperEngine {
  /** Windows encoded so far. */
  windows = 0;
  /** Tokens decoded so far. */
  tokens = 0;
  readonly #transcriber: NativeTranscriber;
  readonly #control: EngineControl;
  readonly #clock: MetricsClock;
  readonly #held = new Set<number>();
  readonly #jobs = new Set<number>();

  constructor(transcriber: NativeTranscriber, control: EngineControl, clock: MetricsClock) {
    this.#transcriber = transcriber;
    this.#control = control;
    this.#clock = clock;
    control.onEnding(() => {
      for (const job of this.#jobs) transcriber.stop(job);
    });
  }

  /** The end that was asked for; work that is begun after it is not run. */
  get ending(): EndKind | undefined {
    return this.#control.ending;
  }

  /** Steps of the decoder so far, those of other calls on the same model included. */
  get steps(): number {
    return this.#transcriber.stats().decodeSteps;
  }

  /** Encodes windows; fewer handles than windows, or none, if the call is ended meanwhile. */
  async encode(windows: NativeWindow[]): Promise<number[]> {
    if (this.ending) return [];
    const handles = await this.#run(() => this.#transcriber.encode(windows));
    for (const handle of handles) this.#held.add(handle);
    this.windows += handles.length;
    return handles;
  }

  /** Probabilities of the tokens `ids` after `<|startoftranscript|>`, and that of no speech, for each window. */
  detect(windows: number[], ids: readonly number[]): Promise<{ probabilities: Float32Array; noSpeechProb: number }[]> {
    return this.#timed(() => this.#transcriber.detect(windows, Int32Array.from(ids)));
  }

  async decode(inputs: NativeDecodeInput[], options: NativeDecodeOptions): Promise<NativeDecoding[]> {
    const decoded = await this.#run(() => this.#transcriber.decode(inputs, options));
    for (const { ids } of decoded) this.tokens += ids.length;
    return decoded;
  }

  align(inputs: NativeAlignInput[]): Promise<NativeAlignment[]> {
    return this.#timed(() => this.#transcriber.align(inputs));
  }

  release(handles: readonly number[]): void {
    const held = handles.filter((handle) => this.#held.delete(handle));
    if (held.length > 0) this.#transcriber.release(held);
  }

  /** Gives back every window that is still held. */
  close(): void {
    this.release([...this.#held]);
  }

  async #run<Value>(start: () => Job<Value>): Promise<Value> {
    return this.#timed(async () => {
      const { job, promise } = start();
      this.#jobs.add(job);
      // The end may have been asked for by what `start` called.
      if (this.ending) this.#transcriber.stop(job);
      try {
        return await promise;
      } finally {
        this.#jobs.delete(job);
      }
    });
  }

  /** Counts the time by stages. Where several calls run at once, the engine's own counters hold theirs too, so the wall time bounds them. */
  async #timed<Value>(work: () => Promise<Value>): Promise<Value> {
    const before = this.#transcriber.stats();
    const started = performance.now();
    try {
      return await work();
    } finally {
      const passed = performance.now() - started;
      this.#count(before, this.#transcriber.stats(), passed);
    }
  }

  #count(before: NativeTranscriberStats, after: NativeTranscriberStats, passed: number): void {
    const spent = {
      encode: after.encodeMs - before.encodeMs,
      prefill: after.prefillMs - before.prefillMs,
      decode: after.decodeMs - before.decodeMs + after.sampleMs - before.sampleMs + after.alignMs - before.alignMs,
    };
    const total = spent.encode + spent.prefill + spent.decode;
    const share = total > passed ? passed / total : 1;
    for (const [stage, ms] of Object.entries(spent) as [keyof typeof spent, number][])
      this.#clock.add(stage, ms * share);
  }
}
