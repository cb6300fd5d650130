import { readFileSync } from "node:fs";
import { inRoot } from "../../scripts/lib/paths.mjs";
import { randomNumbers } from "./random.mjs";

/** Common words; with a space in front, most are one token. */
const WORDS =
  "river runs past old stone houses and small market where people sell bread fruit flowers in the morning light while boats " +
  "wait near bridge for travellers who want to see mountains forests lakes children play games after school teachers read " +
  "books about history music science art farmers grow wheat corn rice water sun wind rain snow winter summer night day";

/**
 * Makes prompts of an exact number of tokens, as text and as ids that mean the same. No two share a beginning worth caching, so
 * that every engine computes every prompt.
 */
export class PromptMaker {
  #tokens;
  #made = 0;

  constructor(tokens) {
    this.#tokens = tokens;
  }

  /** @param {{ ask(request: object): Promise<number[]> }} child a Pergola process, whose tokenizer decides */
  static async create(child) {
    const tokens = [];
    for (const word of new Set(WORDS.split(" "))) {
      const text = ` ${word}`;
      const ids = await child.ask({ command: "encode", text });
      if (ids.length === 1) tokens.push({ text, id: ids[0] });
    }
    if (tokens.length < 40) throw new Error(`Only ${tokens.length} words are one token of this model.`);
    return new PromptMaker(tokens);
  }

  next(length) {
    const random = randomNumbers(++this.#made);
    const chosen = Array.from({ length }, () => this.#tokens[Math.floor(random() * this.#tokens.length)]);
    return { text: chosen.map(({ text }) => text).join(""), ids: chosen.map(({ id }) => id) };
  }

  several(count, length) {
    return Array.from({ length: count }, () => this.next(length));
  }
}

/** Greedy answers of transformers in f32: prompt as the model sees it, its ids, the ids of the answer. */
export function readGolden() {
  const entries = JSON.parse(readFileSync(inRoot("test", "fixtures", "llm", "smollm2-golden.json"), "utf8"));
  return entries.map((entry) => ({ prompt: { text: entry.rendered, ids: entry.input_ids }, expected: entry.greedy }));
}
