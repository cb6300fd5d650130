import type { DecodeContext } from "../decode-windows.js";
import { startSequence } from "../window-prompt.js";
import { assignWords, type DraftSegment } from "./segment-words.js";
import { clipAtSentences, joinPunctuation, paceOf, timeWords } from "./word-times.js";
import { splitWords } from "./word-tokens.js";

/** A window whose segments are to get words. */
export interface WindowToAlign {
  handle: number;
  /** Mel frames of audio. */
  frames: number;
  /** Seconds at which it begins. */
  offset: number;
  language: string;
  segments: DraftSegment[];
}

/**
 * Finds the words' times in windows of one call, in order, and gives them to the segments.
 *
 * @param lastSpeech - where speech ended before the first window
 * @returns where it ends after the last one
 */
export async function alignWindows(
  { model, call, engine }: DecodeContext,
  windows: readonly WindowToAlign[],
  lastSpeech: number,
): Promise<number> {
  const { endOfText, noTimestamps } = model.facts.tokens;
  const texts = windows.map(({ segments }) => segments.flatMap(({ ids }) => ids.filter((id) => id < endOfText)));
  const spoken = windows.map((_, index) => index).filter((index) => texts[index]!.length > 0);
  const inputs = spoken.map((index) => {
    const { handle, frames, language } = windows[index]!;
    const start = startSequence(model.facts, call, language);
    const ids = Int32Array.from([...start, noTimestamps, ...texts[index]!, endOfText]);
    return { window: handle, frames, ids, sotLength: start.length };
  });
  const aligned = inputs.length > 0 ? await engine.align(inputs) : [];
  let end = lastSpeech;
  for (const [index, { segments, offset, language }] of windows.entries()) {
    const alignment = aligned[spoken.indexOf(index)];
    if (!alignment) {
      for (const segment of segments) segment.words = [];
      continue;
    }
    const words = timeWords(splitWords(texts[index]!, model.tokenizer, language), alignment);
    const pace = paceOf(words);
    clipAtSentences(words, pace);
    assignWords(segments, joinPunctuation(words), pace, { offset, lastSpeech: end, endOfText });
    end = speechEnd(segments) ?? end;
  }
  return end;
}

/** End of the last word, or of the last segment where there are no words. */
export function speechEnd(segments: readonly DraftSegment[]): number | undefined {
  for (const { words } of segments.toReversed()) {
    const last = words?.at(-1);
    if (last) return last.end;
  }
  return segments.at(-1)?.end;
}
