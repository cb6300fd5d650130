import type { TranscriptSegment, TranscriptWord } from "../transcript.js";

/** What the writers need of a segment. */
export interface TimedSegment extends Pick<TranscriptSegment, "start" | "end" | "text"> {
  words?: readonly Pick<TranscriptWord, "word" | "start" | "end">[] | undefined;
}

/** A stretch of a {@link TimedText} whose times are known, in seconds. */
export interface TimedSpan {
  from: number;
  to: number;
  start: number;
  end: number;
}

/** A segment's text in one line, with a time for every place in it. */
export interface TimedText {
  text: string;
  /** In order, not overlapping: words, or the segment as a whole. */
  spans: readonly TimedSpan[];
  /** The spans are words. */
  hasWords: boolean;
}

// No-break spaces stay: they hold together what belongs together.
const SPACE = /(?:(?![\u00a0\u202f])[\p{Cc}\p{Z}])+/gu;

/** The text in one line: control characters and runs of white space become one space, none at the ends. */
export function oneLine(text: string): string {
  return text.replace(SPACE, " ").replace(/^ | $/g, "");
}

/** Takes the times of words where the words are the whole text, else the segment's own. */
export function toTimedText(segment: TimedSegment): TimedText {
  const text = oneLine(segment.text);
  const ofWords = segment.words && joinWords(segment.words);
  const withoutSpaces = (value: string): string => value.replaceAll(" ", "");
  if (ofWords && withoutSpaces(ofWords.text) === withoutSpaces(text)) return ofWords;
  const { start } = segment;
  return { text, spans: [{ from: 0, to: text.length, start, end: Math.max(start, segment.end) }], hasWords: false };
}

function joinWords(words: NonNullable<TimedSegment["words"]>): TimedText {
  let text = "";
  let time = 0;
  let isSpaced = false;
  const spans: TimedSpan[] = [];
  for (const { word, start, end } of words) {
    const piece = oneLine(word);
    const spaced = word.replace(SPACE, " ");
    isSpaced ||= spaced.startsWith(" ");
    if (piece !== "") {
      if (isSpaced && text !== "") text += " ";
      const from = text.length;
      text += piece;
      const begins = Math.max(time, start);
      time = Math.max(begins, end);
      spans.push({ from, to: text.length, start: begins, end: time });
      isSpaced = spaced.endsWith(" ");
    }
  }
  return { text, spans, hasWords: true };
}

/** The time at which what stands at `offset` begins. Inside a span, time runs as the text does. */
export function startTime({ spans }: TimedText, offset: number): number {
  return timeIn(spans.find(({ to }) => offset < to) ?? spans.at(-1)!, offset);
}

/** The time at which what stands before `offset` ends. */
export function endTime({ spans }: TimedText, offset: number): number {
  return timeIn(spans.findLast(({ from }) => from < offset) ?? spans[0]!, offset);
}

function timeIn({ from, to, start, end }: TimedSpan, offset: number): number {
  const share = Math.min(1, Math.max(0, (offset - from) / (to - from)));
  return start + (end - start) * share;
}
