import { joinedWidth, lineWidth, toAtoms, type Atom } from "./atoms.js";
import { settleTimes } from "./cue-times.js";
import { partition } from "./partition.js";
import { endTime, startTime, toTimedText, type TimedSegment, type TimedText } from "./timed-text.js";

/** How text is laid out in subtitles. */
export interface CueLayout {
  maxLineLength: number;
  maxLines: number;
  maxCharactersPerSecond: number;
}

/** One subtitle; times in whole milliseconds. */
export interface Cue {
  start: number;
  end: number;
  lines: CueLine[];
}

/** A line of a subtitle. */
export interface CueLine {
  text: string;
  /** The words, where their times are known; the text in between and around them belongs to no word. */
  words: { from: number; to: number; start: number }[];
}

/** A run of atoms that becomes a cue, and what it is made of. */
interface Draft {
  timed: TimedText;
  atoms: Atom[];
  start: number;
  end: number;
  width: number;
}

const SENTENCE_END = /[.!?…。！？؟۔।]["'”’»)\]）」』]*$/u;
const CLAUSE_END = /[,;:—–،؛、，；：]["'”’»)\]）」』]*$/u;
/** Nobody is to read what is said after a pause like this before it. */
const LONG_PAUSE = 1.5;
const SHORT_PAUSE = 0.4;
const LONGEST_CUE = 7;
const SHORTEST_CUE = 1;

/** Turns segments into subtitles. */
export function makeCues(segments: readonly TimedSegment[], duration: number, layout: CueLayout): Cue[] {
  const drafts = segments
    .map(toTimedText)
    .filter(({ text }) => text !== "")
    .sort((left, right) => left.spans[0]!.start - right.spans[0]!.start)
    .flatMap((timed) => splitIntoDrafts(timed, layout));
  settleTimes(drafts, layout.maxCharactersPerSecond, Math.round(duration * 1000));
  return drafts.map(({ timed, atoms, start, end }) => ({
    start,
    end,
    lines: wrap(timed.text, atoms, layout).map((line) => toLine(timed, line)),
  }));
}

function splitIntoDrafts(timed: TimedText, layout: CueLayout): Draft[] {
  const atoms = toAtoms(timed.text, layout.maxLineLength);
  return partition(atoms.length, (first) => cuesFrom(timed, atoms, first, layout)).map(({ first, end }) => {
    const part = atoms.slice(first, end);
    return {
      timed,
      atoms: part,
      start: Math.round(startTime(timed, part[0]!.from) * 1000),
      end: Math.round(endTime(timed, part.at(-1)!.to) * 1000),
      width: lineWidth(part, 0, part.length),
    };
  });
}

/** The cues that may begin with an atom, with how good each would be. */
function* cuesFrom(
  timed: TimedText,
  atoms: readonly Atom[],
  first: number,
  { maxLineLength, maxLines, maxCharactersPerSecond }: CueLayout,
): Generator<{ end: number; cost: number }> {
  let [lines, lineStart, columns, width, pauses] = [1, first, 0, 0, 0];
  const start = startTime(timed, atoms[first]!.from);
  for (let index = first; index < atoms.length; index++) {
    if (index > first && columns + joinedWidth(atoms, lineStart, index) > maxLineLength) {
      if (++lines > maxLines) return;
      [lineStart, columns] = [index, 0];
    }
    columns += joinedWidth(atoms, lineStart, index);
    width += joinedWidth(atoms, first, index);
    if (index > first && pauseBefore(timed, atoms, index) > LONG_PAUSE) pauses++;

    const isLast = index + 1 === atoms.length;
    const seconds = endTime(timed, atoms[index]!.to) - start;
    const shown = (isLast ? start + seconds : startTime(timed, atoms[index + 1]!.from)) - start;
    const speed = width / Math.max(shown, 0.001) / maxCharactersPerSecond;
    // Each cue costs 1: fewer are better, unless what follows adds up to more.
    let cost = 1 + pauses * 1.5 + 0.3 * (1 - width / (maxLineLength * maxLines)) ** 2;
    if (!isLast) cost += endCost(timed, atoms, index);
    if (timed.hasWords) cost += 0.3 * Math.max(0, seconds - LONGEST_CUE);
    cost += Math.max(0, SHORTEST_CUE - shown) + 0.5 * Math.min(2, Math.max(0, speed - 1));
    yield { end: index + 1, cost };
  }
}

/** How bad it is to end a cue with this atom. */
function endCost(timed: TimedText, atoms: readonly Atom[], index: number): number {
  const text = timed.text.slice(atoms[index]!.from, atoms[index]!.to);
  if (SENTENCE_END.test(text)) return 0;
  if (pauseBefore(timed, atoms, index + 1) >= SHORT_PAUSE) return 0.1;
  return CLAUSE_END.test(text) ? 0.25 : 0.8;
}

function pauseBefore(timed: TimedText, atoms: readonly Atom[], index: number): number {
  return startTime(timed, atoms[index]!.from) - endTime(timed, atoms[index - 1]!.to);
}

/** Breaks a cue that fits into as few lines as possible, of about the same length, after punctuation where that is near. */
function wrap(text: string, atoms: readonly Atom[], { maxLineLength }: CueLayout): Atom[][] {
  const linesFrom = function* (first: number): Generator<{ end: number; cost: number }> {
    let width = 0;
    for (let index = first; index < atoms.length; index++) {
      width += joinedWidth(atoms, first, index);
      if (width > maxLineLength) return;
      const isLast = index + 1 === atoms.length;
      const end = text.slice(atoms[index]!.from, atoms[index]!.to);
      const endsWell = isLast || SENTENCE_END.test(end) || CLAUSE_END.test(end);
      // One line more always costs more than any way of filling them.
      yield { end: index + 1, cost: 100 + (width / maxLineLength) ** 2 + (endsWell ? 0 : 0.15) };
    }
  };
  return partition(atoms.length, linesFrom).map(({ first, end }) => atoms.slice(first, end));
}

function toLine({ text, spans, hasWords }: TimedText, atoms: readonly Atom[]): CueLine {
  const { from } = atoms[0]!;
  const { to } = atoms.at(-1)!;
  const words = spans.filter((span) => hasWords && span.from < to && span.to > from);
  return {
    text: text.slice(from, to),
    words: words.map((span) => ({
      from: Math.max(span.from, from) - from,
      to: Math.min(span.to, to) - from,
      start: Math.round(span.start * 1000),
    })),
  };
}
