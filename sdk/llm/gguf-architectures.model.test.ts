import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { UnsupportedError } from "../core/errors.js";
import { ggufGoldens, tinyGguf, type GgufGoldenRun } from "../testing/gguf-fixtures.js";
import { commonPrefix } from "../testing/model-fixtures.js";
import type { LLMLoadOptions } from "./llm-options.js";
import { LLMPipeline } from "./llm-pipeline.js";

const goldens = ggufGoldens();
const ARCHITECTURES = Object.keys(goldens).filter((name) => name !== "mixed-types");
/** Their layers have attention windows, or attention scores that paged attention cannot compute. */
const STATEFUL = ["gemma2", "gemma3", "gpt-oss"];

async function expectGolden(llm: LLMPipeline, runs: readonly GgufGoldenRun[], tolerance: number): Promise<void> {
  for (const { prompt, times, promptTokens, greedy, stablePrefix, first } of runs) {
    const result = await llm.generate(prompt.repeat(times), {
      applyChatTemplate: false,
      temperature: 0,
      ignoreEos: true,
      maxNewTokens: greedy.length,
      topLogprobs: 20,
    });
    expect(result.usage.promptTokens).toBe(promptTokens);
    const top = new Map(result.logprobs![0]!.top.map(({ token, logprob }) => [token, logprob]));
    for (const [token, logprob] of first) {
      const difference = Math.abs((top.get(token) ?? -Infinity) - logprob);
      expect(difference, `token ${token}`).toBeLessThan(tolerance);
    }
    expect(commonPrefix(result.tokens, greedy)).toBeGreaterThanOrEqual(stablePrefix);
  }
}

function load(name: string, options: LLMLoadOptions = {}): Promise<LLMPipeline> {
  return LLMPipeline.load(tinyGguf(name), { cache: false, ...options });
}

describe("every architecture computes what transformers does", () => {
  it.each(ARCHITECTURES)("%s, with the attention that is chosen for it", async (name) => {
    await using llm = await load(name);
    expect(llm.info.attention).toBe(STATEFUL.includes(name) ? "stateful" : "paged");
    await expectGolden(llm, goldens[name]!, 1e-4);
  });

  it.each(ARCHITECTURES.filter((name) => !STATEFUL.includes(name)))("%s, stateful", async (name) => {
    await using llm = await load(name, { attention: "stateful" });
    await expectGolden(llm, goldens[name]!, 1e-4);
  });

  it.each(["gemma3", "gpt-oss"])("%s, in chunks shorter than its attention window", async (name) => {
    await using llm = await load(name, { maxBatchTokens: 50 });
    await expectGolden(llm, goldens[name]!, 1e-4);
  });
});

describe("attention windows", () => {
  it("are not given up for paged attention: refused by name, or told where auto decides", async () => {
    const error: unknown = await load("gemma3", { attention: "paged" }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UnsupportedError);
    expect((error as Error).message).toMatch(/attention must be "stateful".*window of 64 tokens/);
    await using llm = await load("gemma3");
    expect(llm.explain().notes.join()).toMatch(/attention is stateful: .*window of 64 tokens/);
  });
});

it("LongRoPE limits the context to the length that its short factors are for", async () => {
  await using llm = await load("phi3-longrope");
  expect(llm.info.maxRequestTokens).toBe(1024);
  expect(llm.explain().notes.join()).toMatch(/limited to 1024 of 2048 tokens/);
});

it("a file without .gguf at its end, as the Hugging Face cache names them, is the same model", async () => {
  const folder = await mkdtemp(join(tmpdir(), "pergola-blob-"));
  try {
    const blob = join(folder, "deadbeef");
    await copyFile(tinyGguf("qwen3"), blob);
    await using llm = await LLMPipeline.load(blob, { cache: false });
    await expectGolden(llm, goldens["qwen3"]!, 1e-4);
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe("tensor types", () => {
  it.each(["paged", "stateful"] as const)("thirteen of them in one file keep their values, %s", async (attention) => {
    await using llm = await load("mixed-types", { attention });
    // Zero points (Q4_1, Q5_1, Q2_K, Q4_K, Q5_K) are kept as 16-bit floats.
    await expectGolden(llm, goldens["mixed-types"]!, 0.05);
  });
});
