import type { TranscriptWord } from "../transcript.js";
import type { DraftSegment } from "./segment-words.js";

const MARKS = "\"'“¿([{-\"'.。,，!！?？:：”)]}、";
const SHORTEST_WORD = 0.133;
const LONGEST_WORD = 2;
const WORDS_JUDGED = 8;
/** Seconds at a window's ends in which a strange segment counts as surrounded by silence. */
const NEAR_EDGE = 2;

/** Where a window lies, in seconds of the audio. */
export interface WindowPlace {
  start: number;
  /** End of the window's audio. */
  end: number;
  /** End of the 30 s that a window has, with or without audio. */
  fullEnd: number;
  /** Speech ended here before this window. */
  lastSpeech: number;
  /** End of all audio. */
  audioEnd: number;
}

/** What to do with a window in which silence may have been filled with words. */
export interface Suspicion {
  /** Segments that are kept, from the first on. */
  kept: number;
  /** Seconds at which to go on, where that is not the usual place. */
  resumeAt?: number;
}

/**
 * Finds segments that stand in silence and whose words are improbable, too short or too long, and tells where to listen again
 * (openai/whisper's `hallucination_silence_threshold`).
 *
 * @param threshold - seconds of silence
 */
export function findHallucinations(
  segments: readonly DraftSegment[],
  place: WindowPlace,
  threshold: number,
): Suspicion {
  const first = segments.find(({ words }) => words && words.length > 0);
  if (first && isStrange(first)) {
    const gap = first.start - place.start;
    // The silence in front is left out, and the rest heard again.
    if (gap > threshold) return { kept: 0, resumeAt: place.start + gap };
  }
  let speechEnd = place.lastSpeech;
  for (const [index, segment] of segments.entries()) {
    if (!segment.words || segment.words.length === 0) continue;
    if (isStrange(segment)) {
      const next = segments.slice(index + 1).find(({ words }) => words && words.length > 0);
      const nextStart = next ? next.words![0]!.start : place.end;
      const silentBefore =
        segment.start - speechEnd > threshold || segment.start < threshold || segment.start - place.start < NEAR_EDGE;
      const silentAfter =
        nextStart - segment.end > threshold ||
        (next !== undefined && isStrange(next)) ||
        place.fullEnd - segment.end < NEAR_EDGE;
      if (silentBefore && silentAfter) {
        const isLast = place.audioEnd - segment.end < threshold;
        return { kept: index, resumeAt: isLast ? place.audioEnd : Math.max(place.start + 1, segment.start) };
      }
    }
    speechEnd = segment.end;
  }
  return { kept: segments.length };
}

function isStrange({ words = [] }: DraftSegment): boolean {
  const judged = words.filter(({ word }) => !MARKS.includes(word)).slice(0, WORDS_JUDGED);
  if (words.length === 0) return false;
  const score = judged.reduce((sum, word) => sum + strangeness(word), 0);
  return score >= 3 || score + 0.01 >= judged.length;
}

function strangeness({ start, end, probability }: TranscriptWord): number {
  const length = end - start;
  return (
    (probability < 0.15 ? 1 : 0) +
    (length < SHORTEST_WORD ? (SHORTEST_WORD - length) * 15 : 0) +
    Math.max(0, length - LONGEST_WORD)
  );
}
