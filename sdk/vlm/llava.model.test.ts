import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { llavaCases, shapesItems, visionFixture, withPictures } from "../testing/vlm-fixtures.js";
import { VLMPipeline } from "./vlm-pipeline.js";

const EXACT = { cache: false, kvCache: { precision: "f32" } } as const;

describe.each(["paged", "stateful"] as const)("LLaVA 1.5 against transformers, %s", (attention) => {
  let vlm: VLMPipeline;
  beforeAll(async () => {
    vlm = await VLMPipeline.load(visionFixture("vlm/llava-tiny-ir"), { ...EXACT, attention });
  });
  afterAll(() => vlm.dispose());

  it.each(llavaCases())("%s", async (_, golden) => {
    const pictures = golden.images.map((name) => visionFixture(`vlm/images/${name}.png`));
    const messages = withPictures(golden.messages, pictures);
    const result = await vlm.generate(messages, { temperature: 0, maxNewTokens: 16, ignoreEos: true, topLogprobs: 20 });
    expect(result.usage.promptTokens).toBe(golden.n_ids);
    expect(result.tokens.slice(0, golden.stable_prefix)).toEqual(golden.greedy.slice(0, golden.stable_prefix));
    // Log probabilities differ from logits by the same amount for all tokens.
    const known = result.logprobs![0]!.top.filter(({ token }) => token < golden.logits64.length);
    for (const { token, logprob } of known.slice(1)) {
      const expected = golden.logits64[token]! - golden.logits64[known[0]!.token]!;
      expect(logprob - known[0]!.logprob).toBeCloseTo(expected, 2);
    }
    const { prompt } = await vlm.explain({ prompt: messages });
    expect(prompt).toEqual({ text: golden.prompt, tokens: golden.n_ids });
  });
});

describe("pictures of shapes", () => {
  let vlm: VLMPipeline;
  beforeAll(async () => {
    vlm = await VLMPipeline.load(visionFixture("vlm/llava_shapes-tiny-ir"), EXACT);
  });
  afterAll(() => vlm.dispose());

  it.each(shapesItems())("$image: $truth", async ({ image, truth, answers }) => {
    for (const [question, { n_ids, output_ids, text }] of Object.entries(answers)) {
      const result = await vlm.generate(question, { images: [visionFixture(`vlm/images/${image}`)] });
      expect(result).toMatchObject({ text, finishReason: "stop", usage: { promptTokens: n_ids } });
      expect([...result.tokens, 2]).toEqual(output_ids);
      if (question === "Describe the image.") expect(result.text).toBe(truth);
    }
  });
});
