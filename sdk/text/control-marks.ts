import type { AddedTokenSplitter } from "./added-tokens.js";

/**
 * Marks the spellings of control tokens inside what users wrote, so that after rendering they can be told from those that the
 * template printed: a character that occurs nowhere in the input is put behind the spelling's first character, and taken out
 * again when the text around real control tokens is encoded (`barrier` of `TokenizerCore.encode`).
 */
export class ControlMarks {
  /** The character that was chosen. */
  readonly barrier: string;
  readonly #controls: AddedTokenSplitter;

  /** @param inputs - everything that will be marked, for the choice of the character */
  constructor(controls: AddedTokenSplitter, inputs: readonly unknown[]) {
    this.#controls = controls;
    this.barrier = unusedCharacter(JSON.stringify(inputs));
  }

  /** A copy of a value with every string in it marked, keys of objects too. */
  mark<Value>(value: Value): Value {
    return this.#mark(value) as Value;
  }

  /** Text without marks. */
  remove(text: string): string {
    return text.replaceAll(this.barrier, "");
  }

  #mark(value: unknown): unknown {
    if (typeof value === "string") return this.#markText(value);
    if (Array.isArray(value)) return value.map((entry) => this.#mark(entry));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [this.#markText(key), this.#mark(entry)]));
  }

  /** After a mark the search goes on behind the spelling's first character: spellings may overlap. */
  #markText(text: string): string {
    let marked = "";
    let done = 0;
    for (let index = 0; index < text.length; index++) {
      const token = this.#controls.longestAt(text, index);
      if (!token) continue;
      const behindFirst = index + String.fromCodePoint(token.content.codePointAt(0)!).length;
      marked += text.slice(done, behindFirst) + this.barrier;
      done = behindFirst;
    }
    return marked + text.slice(done);
  }
}

/** Unicode's noncharacters are meant for uses like this one; text that holds them all is not text. */
function unusedCharacter(text: string): string {
  for (let code = 0xfdd0; code <= 0xfdef; code++) {
    const character = String.fromCharCode(code);
    if (!text.includes(character)) return character;
  }
  for (let code = 0xf0000; code < 0x10fffe; code++) {
    const character = String.fromCodePoint(code);
    if (!text.includes(character)) return character;
  }
  throw new RangeError("The messages use every private character of Unicode.");
}
