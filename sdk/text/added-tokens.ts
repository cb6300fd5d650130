import type { AddedTokenDefinition } from "./tokenizer-definition.js";

/** A piece of text, or an added token found in it. */
export type TextSection = { text: string } | { token: AddedTokenDefinition };

interface TrieNode {
  token?: AddedTokenDefinition;
  children: Map<number, TrieNode>;
}

const WORD_CHARACTER = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]/u;
const WHITE_SPACE = /\p{White_Space}/u;

/**
 * Finds added tokens in text: leftmost first, the longest at one place, with the `single_word`, `lstrip` and `rstrip` rules
 * of Hugging Face tokenizers (`added_vocabulary.rs`). Text is never changed, only cut.
 */
export class AddedTokenSplitter {
  readonly #root: TrieNode = { children: new Map() };
  readonly #empty: boolean;

  constructor(tokens: Iterable<AddedTokenDefinition>) {
    let empty = true;
    for (const token of tokens) {
      if (token.content.length === 0) continue;
      empty = false;
      let node = this.#root;
      for (let index = 0; index < token.content.length; index++) {
        const unit = token.content.charCodeAt(index);
        let child = node.children.get(unit);
        if (!child) node.children.set(unit, (child = { children: new Map() }));
        node = child;
      }
      node.token ??= token;
    }
    this.#empty = empty;
  }

  split(text: string): TextSection[] {
    if (text.length === 0) return [];
    if (this.#empty) return [{ text }];
    const sections: TextSection[] = [];
    let start = 0;
    let index = 0;
    while (index < text.length) {
      const token = this.longestAt(text, index);
      if (!token) {
        index++;
        continue;
      }
      let from = index;
      let to = index + token.content.length;
      if (token.singleWord && (isWordBefore(text, from) || isWordAfter(text, to))) {
        index = to;
        continue;
      }
      if (token.leftStrip) while (from > start && WHITE_SPACE.test(text[from - 1]!)) from--;
      if (token.rightStrip) while (to < text.length && WHITE_SPACE.test(text[to]!)) to++;
      if (from > start) sections.push({ text: text.slice(start, from) });
      sections.push({ token });
      start = index = to;
    }
    if (start < text.length) sections.push({ text: text.slice(start) });
    return sections;
  }

  /** The longest token whose spelling begins at this place. */
  longestAt(text: string, start: number): AddedTokenDefinition | undefined {
    let found: AddedTokenDefinition | undefined;
    let node: TrieNode | undefined = this.#root;
    for (let index = start; index < text.length; index++) {
      node = node.children.get(text.charCodeAt(index));
      if (!node) break;
      found = node.token ?? found;
    }
    return found;
  }
}

function isWordBefore(text: string, index: number): boolean {
  return index > 0 && WORD_CHARACTER.test(Array.from(text.slice(Math.max(0, index - 2), index)).at(-1)!);
}

function isWordAfter(text: string, index: number): boolean {
  return index < text.length && WORD_CHARACTER.test(String.fromCodePoint(text.codePointAt(index)!));
}
