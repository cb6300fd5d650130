import type { MetricsClock } from "../core/metrics.js";
import { stoppable } from "../core/native-job.js";
import type {
  NativeAlignInput,
  NativeAlignment,
  NativeDecodeInput,
  NativeDecodeOptions,
  NativeDecoding,
  NativeDetection,
  NativeJob,
  NativeTimed,
  NativeTranscriber,
  NativeWindow,
} from "../core/native-types.js";
import type { EndKind, StreamControl } from "../core/stream.js";

/** What is needed of a stream's control. */
export type EngineControl = Pick<StreamControl<never>, "ending" | "onEnding">;

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
  readonly #ended = new AbortController();

  constructor(transcriber: NativeTranscriber, control: EngineControl, clock: MetricsClock) {
    this.#transcriber = transcriber;
    this.#control = control;
    this.#clock = clock;
    control.onEnding(() => this.#ended.abort());
  }

  /** The end that was asked for; work that is begun after it is not run. */
  get ending(): EndKind | undefined {
    return this.#control.ending;
  }

  /** Steps of the decoder so far, those of other calls on the same model included. */
  get steps(): number {
    return this.#transcriber.decodeSteps;
  }

  /** Encodes windows; fewer handles than windows, or none, if the call is ended meanwhile. */
  async encode(windows: NativeWindow[]): Promise<number[]> {
    if (this.ending) return [];
    const handles = await this.#run(this.#transcriber.encode(windows));
    for (const handle of handles) this.#held.add(handle);
    this.windows += handles.length;
    return handles;
  }

  /** Probabilities of the tokens `ids` after `<|startoftranscript|>`, and that of no speech, for each window. */
  detect(windows: number[], ids: readonly number[]): Promise<NativeDetection[]> {
    return this.#run(this.#transcriber.detect(windows, Int32Array.from(ids)));
  }

  async decode(inputs: NativeDecodeInput[], options: NativeDecodeOptions): Promise<NativeDecoding[]> {
    const decoded = await this.#run(this.#transcriber.decode(inputs, options));
    for (const { ids } of decoded) this.tokens += ids.length;
    return decoded;
  }

  async align(inputs: NativeAlignInput[]): Promise<NativeAlignment[]> {
    return this.#run(this.#transcriber.align(inputs));
  }

  release(handles: readonly number[]): void {
    const held = handles.filter((handle) => this.#held.delete(handle));
    if (held.length > 0) this.#transcriber.release(held);
  }

  /** Gives back every window that is still held. */
  close(): void {
    this.release([...this.#held]);
  }

  /** The job's result; its own times are added to the call's. */
  async #run<Value>(job: NativeJob<NativeTimed<Value>>): Promise<Value> {
    const { value, timings } = await stoppable(job, this.#ended.signal);
    this.#clock.add("encode", timings.encodeMs);
    this.#clock.add("prefill", timings.prefillMs);
    this.#clock.add("decode", timings.decodeMs + timings.alignMs);
    return value;
  }
}
