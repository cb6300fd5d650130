import type { NativeLogMel } from "../core/native-types.js";
import { fakeNativeError } from "./fake-generator.js";

const HOP = 160;
/** Samples on either side of a frame's middle. */
const SIDE = 200;

/** A spectrogram without values: it counts frames as the native one does and remembers what it was given. */
export class FakeLogMel implements NativeLogMel {
  readonly bins: number;
  /** Samples so far. */
  samples = 0;
  /** Greatest absolute value so far. */
  peak = 0;
  firstFrame = 0;
  finished = false;
  #frames = 0;

  constructor(bins: number) {
    this.bins = bins;
  }

  get frames(): number {
    return this.#frames;
  }

  append(samples: Float32Array): Promise<void> {
    if (this.finished) throw fakeNativeError("option", "nothing can be appended");
    this.samples += samples.length;
    for (const sample of samples) this.peak = Math.max(this.peak, Math.abs(sample));
    if (this.samples > SIDE) this.#frames = Math.max(0, Math.floor((this.samples - SIDE) / HOP) + 1);
    return turn();
  }

  finish(): Promise<void> {
    this.finished = true;
    this.#frames = Math.floor(this.samples / HOP);
    return turn();
  }

  discard(frame: number): void {
    this.firstFrame = Math.max(this.firstFrame, Math.min(frame, this.#frames));
  }

  read(_start: number, _count: number, length: number, padding: number): Float32Array {
    return new Float32Array(length * this.bins).fill(padding);
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
