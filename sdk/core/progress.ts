import { EventEmitter } from "eventemitter3";

/** A part of loading a model, in the order they happen; those that are not needed are left out. */
export type LoadStage =
  "files" | "tokenizer" | "read" | "convert" | "compile" | "import" | "export" | "warm-up" | "ready";

/** How far loading has come. */
export interface LoadProgress {
  stage: LoadStage;
  /** Of the whole load, from 0 to 1; never goes back. The last report is `ready` with 1. */
  fraction: number;
  /** The file concerned, where there is one. */
  file?: string;
}

/** Share of the whole that is done when a stage begins and ends; from the times of real loads. */
const SPAN: Record<LoadStage, readonly [number, number]> = {
  files: [0, 0.02],
  tokenizer: [0.02, 0.08],
  read: [0.08, 0.15],
  convert: [0.15, 0.3],
  compile: [0.3, 0.85],
  import: [0.08, 0.85],
  export: [0.85, 0.9],
  "warm-up": [0.9, 0.99],
  ready: [1, 1],
};

/** Collects the stages of a load and reports them as one fraction that only grows. */
export class LoadProgressReporter {
  readonly #emitter = new EventEmitter<{ progress: [LoadProgress] }>();
  #fraction = 0;
  /** What a listener threw; the load fails with it. */
  #failure: { error: unknown } | undefined;

  constructor(listener?: (progress: LoadProgress) => void) {
    if (listener) this.#emitter.on("progress", listener);
  }

  /** @param fraction - of this stage, from 0 to 1 */
  report(stage: LoadStage, fraction: number, file?: string): void {
    const [from, to] = SPAN[stage];
    const whole = from + (to - from) * Math.min(1, Math.max(0, fraction));
    this.#fraction = Math.max(this.#fraction, whole);
    try {
      this.#emitter.emit("progress", { stage, fraction: this.#fraction, ...(file === undefined ? {} : { file }) });
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  /**
   * Tells of a conversion, which may take minutes: whoever wants to end it by an exception does not wait for its end.
   *
   * @param fraction - from 0 to 1
   * @throws what a listener threw
   */
  readonly reportConversion = (fraction: number): void => {
    this.report("convert", fraction);
    this.assertListenerSound();
  };

  /** @throws what a listener threw */
  assertListenerSound(): void {
    if (this.#failure) throw this.#failure.error;
  }
}
