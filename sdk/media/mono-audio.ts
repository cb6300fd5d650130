import { MediaError } from "../core/errors.js";

/** Audio as a decoder delivers it: at its own rate, already mixed down to one channel. */
export interface MonoAudio {
  /** What messages call it. */
  readonly name: string;
  /** Samples a second. */
  readonly sampleRate: number;
  /** Number of samples, where it is known before decoding. */
  readonly frames: number | undefined;
  /**
   * The samples in order, in small blocks (a few thousand, so that work between two blocks stays short). Can be called
   * once. A block is valid until the next one is asked for.
   *
   * @param from - sample to begin with
   */
  blocks(from: number): AsyncGenerator<Float32Array, void, undefined>;
}

/** Samples in a block, roughly. */
export const BLOCK_FRAMES = 8192;

/** Lowest and highest rate that is taken for real. */
export const LOWEST_RATE = 1000;
export const HIGHEST_RATE = 384_000;

/** @throws MediaError if a sample is NaN or infinite */
export function checkFinite(samples: Float32Array, firstFrame: number, sampleRate: number, name: string): void {
  for (let index = 0; index < samples.length; index++) {
    const value = samples[index]!;
    // The difference of NaN or infinity with itself is NaN.
    if (value - value !== 0) {
      const frame = firstFrame + index;
      throw new MediaError(
        `Sample ${frame} of ${name} (at ${(frame / sampleRate).toFixed(3)} s) is ${value}; ` +
          "samples must be finite numbers, usually from -1 to 1. Repair what made them.",
      );
    }
  }
}

/**
 * Leaves the first samples out, for decoders that cannot begin in the middle; cuts long blocks. Gives empty blocks in
 * their place, so that the event loop gets its turn.
 */
export async function* fromFrame(
  blocks: AsyncIterable<Float32Array>,
  from: number,
): AsyncGenerator<Float32Array, void, undefined> {
  let left = from;
  for await (const block of blocks) {
    const dropped = Math.min(left, block.length);
    left -= dropped;
    for (let at = dropped; at < block.length; at += BLOCK_FRAMES) yield block.subarray(at, at + BLOCK_FRAMES);
    if (dropped === block.length) yield block.subarray(0, 0);
  }
}
