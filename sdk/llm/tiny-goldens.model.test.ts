import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TINY_IR, tinyGolden, tinyIr, type GoldenRun } from "../testing/model-fixtures.js";
import type { LLMOptions } from "./llm-options.js";
import { LLMPipeline, type LLMResult } from "./llm-pipeline.js";

// As the reference: greedy, f32, end-of-sequence ignored.
const OPTIONS: LLMOptions = { temperature: 0, maxNewTokens: 24, ignoreEos: true, topLogprobs: 20 };

function expectGolden(result: LLMResult, golden: GoldenRun): void {
  expect(result.usage.promptTokens).toBe(golden.input_ids.length);
  expect(result.tokens).toHaveLength(24);
  expect(result.tokens.slice(0, golden.stable_prefix)).toEqual(golden.greedy.slice(0, golden.stable_prefix));
  expectLogits(result, golden);
}

/** Log probabilities differ from logits by the same amount for all tokens. */
function expectLogits(result: LLMResult, golden: GoldenRun): void {
  const known = result.logprobs![0]!.top.filter(({ token }) => token < golden.logits_first64.length);
  for (const { token, logprob } of known.slice(1)) {
    const expected = golden.logits_first64[token]! - golden.logits_first64[known[0]!.token]!;
    expect(logprob - known[0]!.logprob).toBeCloseTo(expected, 1);
  }
}

describe.each(TINY_IR.flatMap((name) => (["paged", "stateful"] as const).map((attention) => ({ name, attention }))))(
  "$name, $attention",
  ({ name, attention }) => {
    const golden = tinyGolden(name);
    let llm: LLMPipeline;
    beforeAll(async () => {
      llm = await LLMPipeline.load(tinyIr(name), {
        attention,
        cache: false,
        kvCache: { precision: "f32" },
        properties: { INFERENCE_PRECISION_HINT: "f32" },
      });
    });
    afterAll(() => llm.dispose());

    it("is loaded as asked", () => {
      expect(llm.info).toMatchObject({ attention, fallbackReason: "", contextLength: 2048, vocabSize: 304 });
    });

    it.each(golden.raw)("raw prompt $prompt$repeat", async (run) => {
      expectGolden(await llm.generate(run.prompt ?? run.repeat!, { ...OPTIONS, applyChatTemplate: false }), run);
    });

    it.each(golden.chat)("chat", async (run) => {
      expectGolden(await llm.generate(run.messages, OPTIONS), run);
      const { prompt } = await llm.explain({ prompt: run.messages });
      expect(prompt).toEqual({ text: run.text, tokens: run.input_ids.length });
    });

    it("all prompts together, twice", async () => {
      const prompts = golden.raw.map(({ prompt, repeat }) => prompt ?? repeat!);
      for (let round = 0; round < 2; round++) {
        const results = await llm.generate(prompts, { ...OPTIONS, applyChatTemplate: false });
        results.forEach((result, index) => expectGolden(result, golden.raw[index]!));
      }
    });
  },
);
