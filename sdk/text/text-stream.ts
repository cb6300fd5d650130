import type { TokenDecoder } from "./detokenizer.js";
import { StopStringMatcher, type StopStringOptions, type StopStringResult } from "./stop-strings.js";
import type { DecodeOptions, Tokenizer } from "./tokenizer.js";

export interface TextStreamOptions extends DecodeOptions, StopStringOptions {
  /** Strings that end the text. */
  stops?: readonly string[];
}

/** Text that arrived with some tokens. */
export type TextDelta = StopStringResult;

/** Tokens of the text that was delivered. */
export interface KeptTokens {
  /** Smallest number of tokens whose decoded text begins with the delivered text. */
  count: number;
  /** The decoded text of these tokens is the delivered text: the cut does not go through a token. */
  exact: boolean;
}

/** From token ids to text: decoding and stop strings together, and which tokens the text consists of. */
export class TextStream {
  readonly #decoder: TokenDecoder;
  readonly #matcher: StopStringMatcher;
  /** For the tokens that are not yet certain to be kept: their number and the length of all text up to them. */
  #open: { count: number; length: number; unfinished: boolean }[] = [];
  #tokens = 0;
  /** Length of the text decoded so far, and of the part that was delivered. */
  #decoded = 0;
  #delivered = 0;

  constructor(tokenizer: Tokenizer, options: TextStreamOptions = {}) {
    this.#decoder = tokenizer.decoder(options);
    this.#matcher = new StopStringMatcher(options.stops ?? [], options);
  }

  /** Takes the next ids. Those behind a stop string are not looked at. */
  push(ids: ArrayLike<number>): TextDelta {
    let text = "";
    for (let index = 0; index < ids.length && !this.#matcher.stopped; index++) {
      const piece = this.#decoder.push([ids[index]!]);
      this.#tokens++;
      this.#decoded += piece.length;
      this.#open.push({ count: this.#tokens, length: this.#decoded, unfinished: this.#decoder.unfinished });
      const result = this.#matcher.push(piece);
      this.#deliver(result.text);
      text += result.text;
      if (result.stopped) return { ...result, text };
    }
    return { text, stopped: this.#matcher.stopped };
  }

  /** The end of the ids: text that was held back, and U+FFFD for an unfinished character. */
  flush(): TextDelta {
    if (this.#matcher.stopped) return { text: "", stopped: true };
    const piece = this.#decoder.flush();
    this.#decoded += piece.length;
    const last = this.#open.at(-1);
    if (piece.length > 0 && last) Object.assign(last, { length: this.#decoded, unfinished: false });
    const result = this.#matcher.push(piece);
    const text = result.stopped ? result.text : result.text + this.#matcher.flush();
    this.#deliver(text);
    return { ...result, text };
  }

  /** Tokens taken so far, up to and including the one that completed a stop string. */
  get tokens(): number {
    return this.#tokens;
  }

  /** Without a stop string: all tokens. */
  get kept(): KeptTokens {
    if (!this.#matcher.stopped) return { count: this.#tokens, exact: true };
    if (this.#delivered === 0) return { count: 0, exact: true };
    const { count, length, unfinished } = this.#open.find((entry) => entry.length >= this.#delivered)!;
    return { count, exact: length === this.#delivered && !unfinished };
  }

  #deliver(text: string): void {
    this.#delivered += text.length;
    // Tokens that end before what was delivered are settled; the last that reaches it must stay.
    let settled = 0;
    while (settled < this.#open.length && this.#open[settled]!.length < this.#delivered) settled++;
    if (settled > 0) this.#open = this.#open.slice(settled);
  }
}
