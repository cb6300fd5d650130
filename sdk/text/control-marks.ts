import { AddedTokenSplitter } from "./added-tokens.js";

/**
 * Marks the spellings of control tokens inside what users wrote, so that after rendering they can be told from those that the
 * template printed: a character that occurs nowhere in the input is put behind the spelling's first character, and taken out
 * again when the text around real control tokens is encoded (`barrier` of `TokenizerCore.encode`).
 */
export class ControlMarks {
  /** The character that was chosen. */
  readonly barrier: string;
  readonly #spellings: readonly AddedTokenSplitter[];

  /**
   * @param inputs - everything that will be marked, for the choice of the character
   * @param others - further spellings to mark, which may not be those of control tokens
   */
  constructor(controls: AddedTokenSplitter, inputs: readonly unknown[], others: readonly string[] = []) {
    this.#spellings = others.length > 0 ? [controls, splitterOf(others)] : [controls];
    this.barrier = unusedCharacter(JSON.stringify(inputs, textOfOthers));
  }

  /** A copy of a value with every string in it marked, keys of objects too. */
  mark<Value>(value: Value): Value {
    return this.#mark(value) as Value;
  }

  /** Marks what stands in an object, but not its own keys: they are names of variables. */
  markEntries(values: Record<string, unknown>): Record<string, unknown> {
    return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, this.#mark(value)]));
  }

  /**
   * Marks texts that follow each other, also where a spelling begins in one and ends in another: a template may print them
   * without anything between.
   */
  markAll(texts: readonly string[]): string[] {
    const whole = texts.join("");
    const places = this.#places(whole);
    let from = 0;
    return texts.map((text) => {
      const end = from + text.length;
      let marked = "";
      let done = from;
      for (const place of places) {
        if (place <= from || place > end) continue;
        marked += whole.slice(done, place) + this.barrier;
        done = place;
      }
      from = end;
      return marked + whole.slice(done, end);
    });
  }

  /** Text without marks. */
  remove(text: string): string {
    return text.replaceAll(this.barrier, "");
  }

  #mark(value: unknown): unknown {
    if (typeof value === "string") return this.markAll([value])[0];
    if (Array.isArray(value)) return value.map((entry) => this.#mark(entry));
    if (value === null || typeof value !== "object") return value;
    if (value instanceof Map) {
      return new Map([...(value as Map<unknown, unknown>)].map(([key, entry]) => [this.#mark(key), this.#mark(entry)]));
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    // Left for the template's own check of its variables: a copy would make a plain object of it.
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, entry]) => [this.markAll([key])[0]!, this.#mark(entry)]),
    );
  }

  /** Where marks go, in order. After a mark the search goes on behind the spelling's first character: spellings may overlap. */
  #places(text: string): number[] {
    const places: number[] = [];
    for (let index = 0; index < text.length; index++) {
      if (!this.#spellings.some((spellings) => spellings.longestAt(text, index) !== undefined)) continue;
      places.push(index + String.fromCodePoint(text.codePointAt(index)!).length);
    }
    return places;
  }
}

/** What JSON cannot write: big integers have no text of their own, maps have their entries'. */
function textOfOthers(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? null : value instanceof Map ? [...(value as Map<unknown, unknown>)] : value;
}

function splitterOf(spellings: readonly string[]): AddedTokenSplitter {
  const rules = { special: true, singleWord: false, leftStrip: false, rightStrip: false, normalized: false };
  return new AddedTokenSplitter(spellings.map((content, id) => ({ id, content, ...rules })));
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
