import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FOLDER = new URL("../../test/fixtures/gguf/", import.meta.url);

/** What transformers (f32, greedy) answered with the very weights of the file; end-of-sequence tokens count as any other. */
export interface GgufGoldenRun {
  prompt: string;
  /** The prompt is this text so many times. */
  times: number;
  promptTokens: number;
  greedy: number[];
  /** Steps before the first one at which the two best logits are closer than 0.02: up to there rounding cannot matter. */
  stablePrefix: number;
  /** The likeliest first tokens, with their log probabilities. */
  first: [token: number, logprob: number][];
}

/** Path of a tiny model that `test/fixtures/gguf/make_tiny_gguf.py` wrote. */
export function tinyGguf(name: string): string {
  return fileURLToPath(new URL(`${name}.gguf`, FOLDER));
}

/** References by name of the model. */
export function ggufGoldens(): Record<string, GgufGoldenRun[]> {
  return JSON.parse(readFileSync(new URL("goldens.json", FOLDER), "utf8")) as Record<string, GgufGoldenRun[]>;
}
