import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Message } from "../text/messages.js";

const ROOT = new URL("../../", import.meta.url);
const LLM = new URL("test/fixtures/llm/", ROOT);

/** The tiny models that also exist as OpenVINO IR. */
export const TINY_IR = ["llama", "llama3-rope", "mistral", "phi3", "qwen2", "qwen3"] as const;

/** Folder of a tiny model as optimum-intel exported it. */
export function tinyIr(name: (typeof TINY_IR)[number]): string {
  return fileURLToPath(new URL(`${name}-tiny-ir`, LLM));
}

/** The tiny models as checkpoints. */
export const TINY_HF = [...TINY_IR, "gemma2"] as const;

/** Folder of a tiny model as transformers saved it (safetensors, f16). */
export function tinyHf(name: (typeof TINY_HF)[number]): string {
  return fileURLToPath(new URL(`${name}-tiny-hf`, LLM));
}

/** What transformers answered (f32, greedy, end-of-sequence ignored). */
export interface GoldenRun {
  input_ids: number[];
  /** Logits of the first 64 token ids after the prompt. */
  logits_first64: number[];
  greedy: number[];
  /** Steps before the first one at which the two best logits are closer than 0.02: up to there rounding cannot matter. */
  stable_prefix: number;
}

export interface TinyGolden {
  raw: (GoldenRun & { prompt: string | null; repeat: string | null })[];
  chat: (GoldenRun & { messages: Message[]; text: string })[];
}

export function tinyGolden(name: (typeof TINY_HF)[number]): TinyGolden {
  return readJson(`${name}-golden.json`) as TinyGolden;
}

/** Folder of a checkpoint without tokenizer (that of the others fits), and what transformers made of it. */
export function variant(name: string): string {
  return fileURLToPath(new URL(`variants/${name}`, LLM));
}

export function variantGolden(name: string): GoldenRun {
  return readJson(`variants/${name}/golden.json`) as GoldenRun;
}

/** What transformers answered with SmolLM2's weights (dequantised, f32); the last id may be the stop token. */
export interface SmolGolden {
  prompt: string;
  rendered: string;
  input_ids: number[];
  first: { top5: number[]; logprobs: number[] };
  greedy: number[];
  /** Between the two best logits at each step. */
  gaps: number[];
  text: string;
}

export function smolGoldens(): SmolGolden[] {
  return readJson("smollm2-golden.json") as SmolGolden[];
}

/** The small real model that `scripts/` fetches into `models/`. */
export function smolLM2(): string {
  const path = fileURLToPath(new URL("models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", ROOT));
  if (!existsSync(path)) throw new Error("SmolLM2 is not there yet: node scripts/fetch-models.mjs");
  return path;
}

/** Length of the common beginning of two lists. */
export function commonPrefix(a: readonly number[], b: readonly number[]): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
}

function readJson(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, LLM), "utf8"));
}
