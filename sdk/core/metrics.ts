import type { NativeRequestTimings } from "./native-types.js";

/** Where the time of a call went, in milliseconds. Stages a pipeline does not have are 0. */
export interface StageTimes {
  /** Text to token ids, chat template included. */
  tokenize: number;
  /** Images or audio to tensors. */
  preprocess: number;
  /** Vision or audio encoder. */
  encode: number;
  /** First inference to first token. */
  prefill: number;
  /** First token to last token. */
  decode: number;
  /** Token ids to text. */
  detokenize: number;
}

/** Times of one call. 0 stands for "not measured" (for example `tpotMs` of an answer of one token). */
export interface Metrics {
  /** Time that loading the pipeline took. */
  loadMs: number;
  /** Call to first token. */
  ttftMs: number;
  /** Mean time of a token after the first. */
  tpotMs: number;
  /** Tokens a second after the first one: `1000 / tpotMs`. */
  tokensPerSecond: number;
  /** Call to result. */
  durationMs: number;
  /** Time spent waiting for other requests before the first inference. */
  queueMs: number;
  stages: StageTimes;
}

/** Gathers the times of one call. */
export class MetricsClock {
  readonly #started = performance.now();
  readonly #loadMs: number;
  #submittedMs = 0;
  #firstOutputMs: number | undefined;
  readonly #stages: StageTimes = { tokenize: 0, preprocess: 0, encode: 0, prefill: 0, decode: 0, detokenize: 0 };

  constructor(loadMs: number) {
    this.#loadMs = loadMs;
  }

  /** Adds the time of a piece of work to a stage. */
  measure<Value>(stage: keyof StageTimes, work: () => Value): Value {
    const start = performance.now();
    try {
      return work();
    } finally {
      this.#stages[stage] += performance.now() - start;
    }
  }

  /** The same for work that returns a promise. */
  async measureAsync<Value>(stage: keyof StageTimes, work: () => Promise<Value>): Promise<Value> {
    const start = performance.now();
    try {
      return await work();
    } finally {
      this.#stages[stage] += performance.now() - start;
    }
  }

  /** Adds time that was measured elsewhere to a stage, in ms. */
  add(stage: keyof StageTimes, ms: number): void {
    this.#stages[stage] += ms;
  }

  /** Marks the first output of a call that is not one native request; later calls do nothing. */
  firstOutput(): void {
    this.#firstOutputMs ??= performance.now() - this.#started;
  }

  /**
   * The times of a call made of many native jobs, whose stages were added one by one.
   *
   * @param tokens - tokens decoded in all
   */
  finishJobs(tokens: number): Metrics {
    const tpotMs = tokens > 0 ? this.#stages.decode / tokens : 0;
    return {
      loadMs: this.#loadMs,
      ttftMs: this.#firstOutputMs ?? 0,
      tpotMs,
      tokensPerSecond: tpotMs > 0 ? 1000 / tpotMs : 0,
      durationMs: performance.now() - this.#started,
      queueMs: 0,
      stages: { ...this.#stages },
    };
  }

  /** Marks the moment the native request is submitted. */
  submitted(): void {
    this.#submittedMs = performance.now() - this.#started;
  }

  /**
   * @param generatedTokens - tokens the engine made (a stop token included)
   * @param timings - of the native request; absent when none was needed
   */
  finish(generatedTokens: number, timings?: NativeRequestTimings): Metrics {
    if (timings) {
      this.#stages.prefill += timings.prefillMs;
      this.#stages.decode += timings.decodeMs;
    }
    const later = Math.max(0, generatedTokens - 1);
    const tpotMs = timings && later > 0 ? timings.decodeMs / later : 0;
    return {
      loadMs: this.#loadMs,
      ttftMs: timings && timings.firstTokenMs > 0 ? this.#submittedMs + timings.firstTokenMs : 0,
      tpotMs,
      tokensPerSecond: tpotMs > 0 ? 1000 / tpotMs : 0,
      durationMs: performance.now() - this.#started,
      queueMs: timings?.queueMs ?? 0,
      stages: { ...this.#stages },
    };
  }
}
