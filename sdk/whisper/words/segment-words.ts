import type { TranscriptWord } from "../transcript.js";
import type { TimedWord, WordPace } from "./word-times.js";

/** A segment in the making; times in seconds from the beginning of the audio. */
export interface DraftSegment {
  start: number;
  end: number;
  /** Timestamps included. */
  ids: number[];
  text: string;
  words?: TranscriptWord[];
}

/** A pause counts from here on (in median word lengths) as one after which a long word is not believed. */
const PAUSE = 4;
/** A segment's own time is believed over the words' when they differ by more than this many seconds. */
export const TRUSTED = 0.5;

/**
 * Hands the words of a window to its segments and repairs times at the segments' ends (openai/whisper `add_word_timestamps`): a
 * word next to a pause is cut to a usual length, and segments begin and end with their words, unless the word is far off.
 *
 * @param words - of all segments together, from the window's beginning
 * @param offset - seconds at which the window begins
 * @param lastSpeech - where speech ended before this window
 * @param endOfText - ids below it are text
 */
export function assignWords(
  segments: readonly DraftSegment[],
  words: readonly TimedWord[],
  pace: WordPace,
  place: { offset: number; lastSpeech: number; endOfText: number },
): void {
  let next = 0;
  let { lastSpeech } = place;
  for (const segment of segments) {
    const tokens = segment.ids.filter((id) => id < place.endOfText).length;
    const own: TranscriptWord[] = [];
    for (let taken = 0; next < words.length && taken < tokens; next++) {
      const { word, start, end, probability, tokens: ids } = words[next]!;
      if (word !== "") {
        own.push({ word, start: hundredths(place.offset + start), end: hundredths(place.offset + end), probability });
      }
      taken += ids.length;
    }
    segment.words = own;
    if (own.length === 0) continue;
    clipAfterPause(own, pace, lastSpeech);
    agreeOnStart(segment, own[0]!, pace);
    agreeOnEnd(segment, own.at(-1)!, pace);
    lastSpeech = segment.end;
  }
}

function clipAfterPause(words: readonly TranscriptWord[], { median, longest }: WordPace, lastSpeech: number): void {
  const [first, second] = [words[0]!, words[1]];
  if (first.end - lastSpeech <= median * PAUSE) return;
  const isLong = first.end - first.start > longest || (second !== undefined && second.end - first.start > longest * 2);
  if (!isLong) return;
  if (second && second.end - second.start > longest) {
    const border = Math.max(second.end / 2, second.end - longest);
    first.end = border;
    second.start = border;
  }
  first.start = Math.max(0, first.end - longest);
}

function agreeOnStart(segment: DraftSegment, first: TranscriptWord, { median }: WordPace): void {
  if (segment.start < first.end && segment.start - TRUSTED > first.start) {
    first.start = Math.max(0, Math.min(first.end - median, segment.start));
  } else {
    segment.start = first.start;
  }
}

function agreeOnEnd(segment: DraftSegment, last: TranscriptWord, { median, longest }: WordPace): void {
  const isFarOff = segment.end + TRUSTED < last.end;
  if (segment.end > last.start && isFarOff) {
    last.end = Math.max(last.start + median, segment.end);
    return;
  }
  // A long word that only begins behind the segment holds the pause in front of the next sentence.
  if (isFarOff) last.end = Math.min(last.end, last.start + longest);
  segment.end = last.end;
}

function hundredths(seconds: number): number {
  return Math.round(seconds * 100) / 100;
}
