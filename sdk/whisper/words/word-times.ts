import type { NativeAlignment } from "../../core/native-types.js";
import type { WordTokens } from "./word-tokens.js";

/** A word with its times in seconds from the window's beginning. */
export interface TimedWord extends WordTokens {
  start: number;
  end: number;
  probability: number;
}

/** What is usual for the words of a window, in seconds. */
export interface WordPace {
  /** Median length of a word, 0.7 at most; 0 if there are no words. */
  median: number;
  /** Twice the median: longer words next to a pause hold a part of the pause. */
  longest: number;
}

const SECONDS_PER_FRAME = 0.02;
const LONGEST_MEDIAN = 0.7;
const SENTENCE_ENDS = ".。!！?？";
const JOINED_TO_NEXT = "\"'“¿([{-";
const JOINED_TO_PREVIOUS = "\"'.。,，!！?？:：”)]}、";

/** Gives words the times of their tokens: a word ends where the next one begins. */
export function timeWords(words: readonly WordTokens[], { starts, probabilities }: NativeAlignment): TimedWord[] {
  let at = 0;
  return words.map(({ word, tokens }) => {
    const from = at;
    at += tokens.length;
    let sum = 0;
    for (let index = from; index < at; index++) sum += probabilities[index] ?? 0;
    const [start = 0, end = start] = [starts[from], starts[at]];
    return {
      word,
      tokens,
      start: start * SECONDS_PER_FRAME,
      end: end * SECONDS_PER_FRAME,
      probability: tokens.length > 0 ? sum / tokens.length : 0,
    };
  });
}

export function paceOf(words: readonly TimedWord[]): WordPace {
  const lengths = words.map(({ start, end }) => end - start).filter((length) => length !== 0);
  const median = Math.min(LONGEST_MEDIAN, medianOf(lengths));
  return { median, longest: 2 * median };
}

function medianOf(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/**
 * Takes pauses out of words at the ends of sentences: the mark itself, and the word after it, last no longer than twice the median
 * (openai/whisper `timing.py`). Punctuation must not be joined to words yet.
 */
export function clipAtSentences(words: TimedWord[], { longest }: WordPace): void {
  for (let index = 1; index < words.length; index++) {
    const [before, word] = [words[index - 1]!, words[index]!];
    if (word.end - word.start <= longest) continue;
    if (isSentenceEnd(word.word)) word.end = word.start + longest;
    else if (isSentenceEnd(before.word)) word.start = word.end - longest;
  }
}

function isSentenceEnd(word: string): boolean {
  return word !== "" && SENTENCE_ENDS.includes(word);
}

/** Joins opening punctuation to the word after it and closing punctuation to the word before it; their times are the word's. */
export function joinPunctuation(words: readonly TimedWord[]): TimedWord[] {
  const opened: TimedWord[] = [];
  for (const word of words.toReversed()) {
    const next = opened.at(-1);
    const mark = word.word.trim();
    if (next && word.word.startsWith(" ") && JOINED_TO_NEXT.includes(mark)) {
      next.word = word.word + next.word;
      next.tokens = [...word.tokens, ...next.tokens];
    } else {
      opened.push({ ...word });
    }
  }
  const joined: TimedWord[] = [];
  for (const word of opened.toReversed()) {
    const before = joined.at(-1);
    if (before && !before.word.endsWith(" ") && JOINED_TO_PREVIOUS.includes(word.word)) {
      before.word += word.word;
      before.tokens = [...before.tokens, ...word.tokens];
    } else {
      joined.push(word);
    }
  }
  return joined;
}
