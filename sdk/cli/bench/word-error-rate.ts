import { distance } from "fastest-levenshtein";

/** How far a transcript is from what was said. */
export interface WordErrors {
  /** Words replaced, left out or added, at the least. */
  errors: number;
  /** Words of the reference. */
  words: number;
  /** `errors / words`; 0 where the reference and the transcript are both empty. */
  rate: number;
}

/** Scripts without spaces between words: each character counts as a word. */
const UNSPACED = "\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Mymr}";
const WORD = new RegExp(`[${UNSPACED}]\\p{M}*|(?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}])+`, "gu");

/** Words in lower case without punctuation; `I'm` is `im`, `well-known` is two words. */
export function normalizedWords(text: string): string[] {
  return text.normalize("NFKC").toLowerCase().replace(/['’]/g, "").match(WORD) ?? [];
}

/** Word error rate of a transcript against the text that was read or written down by a person. */
export function wordErrors(reference: string, transcript: string): WordErrors {
  const expected = normalizedWords(reference);
  const heard = normalizedWords(transcript);
  // A character for each different word turns the distance of strings into that of lists of words.
  const characters = new Map<string, string>();
  const encode = (words: readonly string[]): string =>
    words
      .map((word) => {
        const known = characters.get(word) ?? String.fromCharCode(characters.size + 1);
        characters.set(word, known);
        return known;
      })
      .join("");
  const errors = distance(encode(expected), encode(heard));
  return { errors, words: expected.length, rate: errors === 0 ? 0 : errors / expected.length };
}
