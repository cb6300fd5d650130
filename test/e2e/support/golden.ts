import { readFileSync } from "node:fs";
import path from "node:path";
import { root } from "./paths.js";

interface Golden {
  prompt: string;
  input_ids: number[];
  greedy: number[];
  text: string;
}

const file = path.join(root, "test", "fixtures", "llm", "smollm2-golden.json");
const goldens = JSON.parse(readFileSync(file, "utf8")) as Golden[];
const STOP_TOKEN = 2;

/** A prompt, its prompt token count and the answer that transformers gives it, where that answer ends by itself. */
function goldenFor(prompt: string): { prompt: string; promptTokens: number; text: string; tokens: number[] } {
  const golden = goldens.find((entry) => entry.prompt === prompt);
  if (golden?.greedy.at(-1) !== STOP_TOKEN) throw new Error(`no complete golden for ${prompt}`);
  return { prompt, promptTokens: golden.input_ids.length, text: golden.text, tokens: golden.greedy.slice(0, -1) };
}

// Answers whose every token is well ahead of the next likely one, so that rounding does not matter.
export const translation = goldenFor("Translate to French: good morning.");
export const sum = goldenFor("What is 2+2?");
