import type { Tokenizer } from "../../text/tokenizer.js";
import { splitWords } from "../words/word-tokens.js";

/**
 * The beginning of an utterance's text on which two decodings in a row agree, word by word (local agreement, Macháček et al. 2023). It
 * only grows: the decoder is made to begin with it from then on.
 */
export class StableText {
  /** Tokens that are certain. */
  ids: readonly number[] = [];
  #last: string[] = [];

  /** Takes the next decoding of the utterance, which begins with {@link ids}. */
  add(ids: readonly number[], tokenizer: Tokenizer, language: string): void {
    const words = splitWords(ids, tokenizer, language);
    const texts = words.map(({ word }) => word);
    let agreed = 0;
    // Half a character at the end may still become another one.
    while (agreed < texts.length && texts[agreed] === this.#last[agreed] && !texts[agreed]!.includes("\uFFFD"))
      agreed++;
    this.#last = texts;
    const tokens = words.slice(0, agreed).flatMap((word) => word.tokens);
    if (tokens.length > this.ids.length) this.ids = tokens;
  }
}
