import { BLOCK_FRAMES, type MonoAudio } from "./mono-audio.js";
import type { Pace } from "./pace.js";
import { Resampler, TARGET_RATE } from "./resampler.js";

/** A part of the audio, in seconds. */
export interface AudioRange {
  start: number;
  /** The end of the audio if left out. */
  end?: number | undefined;
}

/** Longest piece: 5 s. */
const PIECE = 5 * TARGET_RATE;

/**
 * Brings audio to 16 kHz and cuts it into pieces. A range gives the same samples as the whole would have there.
 *
 * @param live - the audio may come as slowly as it is spoken: what is there is given at once, in place of full pieces
 */
export async function* audioPieces(
  audio: MonoAudio,
  range: AudioRange,
  live: boolean,
  pace: Pace,
): AsyncGenerator<Float32Array, void, undefined> {
  const start = Math.round(range.start * TARGET_RATE);
  const end = range.end === undefined ? Infinity : Math.round(range.end * TARGET_RATE);
  const resampler = new Resampler(audio.sampleRate);
  const from = firstInput(start, audio.sampleRate, resampler);
  const pieces = new PieceCutter(live);
  /** Number of the next sample that the resampler gives. */
  let position = (from * TARGET_RATE) / audio.sampleRate;
  const wanted = (samples: Float32Array): Float32Array => {
    const [skip, keep] = [Math.max(0, start - position), Math.max(0, end - position)];
    position += samples.length;
    return samples.subarray(Math.min(skip, samples.length), Math.min(keep, samples.length));
  };
  for await (const block of audio.blocks(from)) {
    for (let at = 0; at < block.length || at === 0; at += BLOCK_FRAMES) {
      yield* pieces.add(wanted(resampler.push(block.subarray(at, at + BLOCK_FRAMES))));
      await pace.turn();
      if (position >= end) break;
    }
    if (position >= end) break;
  }
  if (position < end) yield* pieces.add(wanted(resampler.flush()));
  yield* pieces.rest();
}

/** The input sample to begin with: before everything that has influence on the first output, and in step with it. */
function firstInput(start: number, rate: number, resampler: Resampler): number {
  const earliest = Math.floor((start * rate) / TARGET_RATE) - resampler.reach - 1;
  return Math.max(0, Math.floor(earliest / resampler.period) * resampler.period);
}

/** Collects samples into pieces. */
class PieceCutter {
  readonly #live: boolean;
  #piece = new Float32Array(PIECE);
  #length = 0;

  constructor(live: boolean) {
    this.#live = live;
  }

  *add(samples: Float32Array): Generator<Float32Array> {
    for (let at = 0; at < samples.length;) {
      const part = samples.subarray(at, at + PIECE - this.#length);
      this.#piece.set(part, this.#length);
      this.#length += part.length;
      at += part.length;
      if (this.#length === PIECE) {
        yield this.#piece;
        this.#piece = new Float32Array(PIECE);
        this.#length = 0;
      }
    }
    if (this.#live) yield* this.rest();
  }

  /** What has been collected, as a piece of its own. */
  *rest(): Generator<Float32Array> {
    if (this.#length === 0) return;
    yield this.#piece.slice(0, this.#length);
    this.#length = 0;
  }
}
