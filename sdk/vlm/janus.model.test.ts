import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { janusFixture } from "../testing/janus-fixture.js";
import { janusCases, withPictures } from "../testing/vlm-fixtures.js";
import { VLMPipeline } from "./vlm-pipeline.js";

describe.each(["tiny-ir", "tiny"])("Janus against transformers, %s", (folder) => {
  let vlm: VLMPipeline;
  beforeAll(async () => {
    vlm = await VLMPipeline.load(janusFixture(folder), { cache: false, kvCache: { precision: "f32" } });
  });
  afterAll(() => vlm.dispose());

  it.each(janusCases().runs)(
    "$name",
    async ({ pictures, messages, input_ids, greedy_16, template_text, full_text }) => {
      const prompt = withPictures(messages, pictures);
      const result = await vlm.generate(prompt, { temperature: 0, maxNewTokens: 16, ignoreEos: true });
      expect(result.tokens).toEqual(greedy_16);
      expect(result.usage.promptTokens).toBe(input_ids.length);
      const explained = (await vlm.explain({ prompt })).prompt!;
      expect(explained.tokens).toBe(input_ids.length);
      // The processor puts its text in front of what the template prints.
      const system = full_text.slice("<｜begin▁of▁sentence｜>".length, full_text.indexOf("<|User|>"));
      expect(explained.text).toBe(system + template_text);
    },
  );
});
