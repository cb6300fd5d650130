import { TemplateLimit } from "./template-errors.js";

/** Deepest nesting of macros and recursive loops; Python's own limit lets some hundred through. */
const DEEPEST_CALL = 200;
/** Characters that cost as much as evaluating one expression. */
const CHARACTERS_PER_UNIT = 16;
const ITEMS_PER_UNIT = 4;

/**
 * What one rendering may cost. Templates come with models, from strangers: every expression costs one unit, text and lists that
 * are made cost by their size, so that time and memory are bounded together.
 */
export class Budget {
  readonly #limit: number;
  #left: number;
  #depth = 0;

  constructor(limit: number) {
    this.#limit = limit;
    this.#left = limit;
  }

  get spent(): number {
    return this.#limit - this.#left;
  }

  spend(units: number): void {
    this.#left -= units;
    // A number that is not finite must not pass.
    if (!(this.#left >= 0)) throw new TemplateLimit("it does more work than a chat template may; it may never end");
  }

  /** Before text of this length is made or read through. */
  characters(count: number): void {
    this.spend(1 + count / CHARACTERS_PER_UNIT);
  }

  /** Before a list of this length is made or read through. */
  items(count: number): void {
    this.spend(1 + count / ITEMS_PER_UNIT);
  }

  /** Before one text is looked for in another: long texts that nearly match cost their product. */
  search(text: string, part: string): void {
    this.characters(text.length + (text.length * part.length) / 1024);
  }

  nested<Result>(action: () => Result): Result {
    if (this.#depth >= DEEPEST_CALL) throw new TemplateLimit("its macros call each other without end");
    this.#depth++;
    try {
      return action();
    } finally {
      this.#depth--;
    }
  }
}
