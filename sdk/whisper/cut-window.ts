import type { NativeWhisperTokens } from "../core/native-types.js";

/** A stretch of a window's tokens; times in seconds from the window's beginning. */
export interface Slice {
  start: number;
  end: number;
  /** Timestamps included. */
  ids: number[];
}

/** How a window's tokens fall into segments, and where the next window begins. */
export interface WindowCut {
  slices: Slice[];
  /** Mel frames to go on by. */
  advance: number;
  /** The text ended with one timestamp: nothing of the window is left. */
  complete: boolean;
  /** Mel frames up to the last pair of timestamps, or the single one at the end; 0 if there is none. */
  closed: number;
  /** What came after the last pair of timestamps and is heard again in the next window. */
  rest: number[];
}

/** Mel frames of a timestamp step. */
const FRAMES_PER_STEP = 2;
const SECONDS_PER_STEP = 0.02;
const SECONDS_PER_FRAME = 0.01;

/**
 * Cuts a window's tokens at its timestamps, as openai/whisper's `transcribe` does: a segment ends where two timestamps meet; a text
 * that ends with a single timestamp is done with the window; otherwise the unfinished end is left to the next window, which begins
 * at the last timestamp. Without any such pair the window is one segment.
 *
 * @param size - mel frames of audio in the window
 */
export function cutWindow(
  ids: readonly number[],
  size: number,
  { timestampBegin }: Pick<NativeWhisperTokens, "timestampBegin">,
): WindowCut {
  const isTime = (index: number): boolean => index >= 0 && index < ids.length && ids[index]! >= timestampBegin;
  const stepOf = (index: number): number => ids[index]! - timestampBegin;
  const complete = isTime(ids.length - 1) && ids.length > 1 && !isTime(ids.length - 2);
  const ends: number[] = [];
  for (let index = 1; index < ids.length; index++) if (isTime(index) && isTime(index - 1)) ends.push(index);

  if (ends.length === 0) {
    const last = ids.findLastIndex((_, index) => isTime(index));
    // A timestamp in front tells when the text begins, not when it ends.
    const end = last > 0 && stepOf(last) > 0 ? stepOf(last) * SECONDS_PER_STEP : size * SECONDS_PER_FRAME;
    return { slices: [{ start: 0, end, ids: [...ids] }], advance: size, complete, closed: 0, rest: [] };
  }
  if (complete) ends.push(ids.length);
  let from = 0;
  const slices = ends.map((to): Slice => {
    const slice = {
      start: stepOf(from) * SECONDS_PER_STEP,
      end: stepOf(to - 1) * SECONDS_PER_STEP,
      ids: ids.slice(from, to),
    };
    from = to;
    return slice;
  });
  const closed = stepOf(from - 1) * FRAMES_PER_STEP;
  return { slices, advance: complete ? size : closed, complete, closed, rest: ids.slice(from) };
}
