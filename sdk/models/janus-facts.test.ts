import { readFileSync } from "node:fs";
import { Template } from "@huggingface/jinja";
import { describe, expect, it } from "vitest";
import { ModelError } from "../core/errors.js";
import { janusFixture, janusGoldens } from "../testing/janus-fixture.js";
import { IMAGE_TOKENS, janusFacts } from "./janus-facts.js";
import type { VisionModelSource } from "./vision-model.js";

type Json = Record<string, unknown>;
type Configs = Pick<VisionModelSource, "config" | "generationConfig" | "processorConfig">;

const read = (folder: string, name: string): Json => {
  try {
    return JSON.parse(readFileSync(janusFixture(`${folder}/${name}`), "utf8")) as Json;
  } catch {
    return {};
  }
};

const configsOf = (folder: string): Configs => ({
  config: read(folder, "config.json"),
  generationConfig: read(folder, "generation_config.json"),
  processorConfig: read(folder, "processor_config.json"),
});

const source = (configs: Partial<Configs>): VisionModelSource => ({
  ...{ path: "/m", folder: "/m", family: "janus", format: "openvino", contextLength: 0, eosTokenIds: [] },
  ...{ config: {}, generationConfig: {}, preprocessorConfig: {}, processorConfig: {}, ...configs },
  has: () => false,
  graph: () => {
    throw new Error("no graphs here");
  },
});

describe("facts of the tiny model", () => {
  it.each(["tiny", "tiny-ir"])("%s", (folder) => {
    expect(janusFacts(source(configsOf(folder)))).toMatchObject({
      ...{ imageTokens: 16, gridSize: 4, imageSize: 32, codebookSize: 256, codeDimension: 8, hiddenSize: 48 },
      ...{ guidanceScale: 5, tokens: IMAGE_TOKENS, useDefaultSystemPrompt: true },
    });
  });
});

describe("facts of the published models", () => {
  // https://huggingface.co/deepseek-ai/Janus-Pro-7B: sizes of the language model that are LlamaConfig's own are left out.
  const original = {
    model_type: "multi_modality",
    language_config: { max_position_embeddings: 16_384, num_hidden_layers: 30, vocab_size: 102_400 },
    vision_config: { cls: "CLIPVisionTower", params: { image_size: 384, model_name: "siglip_large_patch16_384" } },
    gen_vision_config: { cls: "VQ-16", params: { image_token_size: 16_384, n_embed: 8 } },
  };

  it("7B in the original layout", () => {
    expect(janusFacts(source({ config: original, processorConfig: { num_image_tokens: 576 } }))).toMatchObject({
      ...{ imageTokens: 576, gridSize: 24, imageSize: 384, codebookSize: 16_384, codeDimension: 8, hiddenSize: 4096 },
      ...{ guidanceScale: 5, useDefaultSystemPrompt: true },
    });
  });

  it("values that are not told are those of Janus-Pro", () => {
    const config = { model_type: "janus", text_config: {}, vision_config: {}, vq_config: {} };
    expect(janusFacts(source({ config }))).toMatchObject({
      ...{ imageTokens: 576, gridSize: 24, imageSize: 384, codebookSize: 16_384, codeDimension: 8 },
      useDefaultSystemPrompt: false,
    });
  });

  it("spells tokens as the processor does", () => {
    const processorConfig = { image_tag: "<img>", image_start_tag: "<boi>", image_end_tag: "<eoi>", pad_tag: "" };
    expect(janusFacts(source({ config: original, processorConfig })).tokens).toEqual({
      ...{ bos: IMAGE_TOKENS.bos, pad: IMAGE_TOKENS.pad },
      ...{ beginOfImage: "<boi>", imagePlaceholder: "<img>", endOfImage: "<eoi>" },
    });
  });

  it("takes the guidance that the files ask for, if it is a number that can be used", () => {
    const guidance = (value: unknown): number =>
      janusFacts(source({ config: original, generationConfig: { guidance_scale: value } })).guidanceScale;
    expect([guidance(7.5), guidance(1), guidance("5"), guidance(-1), guidance(null), guidance(1e9)]).toEqual([
      7.5, 1, 5, 5, 5, 5,
    ]);
  });
});

describe("impossible values", () => {
  it.each([
    ["num_image_tokens", 575, /575 tokens are not square/],
    ["num_image_tokens", "576", /"vision_config\.num_image_tokens" must be a positive whole number, found "576"/],
    ["image_size", 0, /image_size/],
  ])("%s %s", (name, value, message) => {
    const { config } = configsOf("tiny");
    const vision = { ...(config["vision_config"] as Json), [name]: value };
    const read = (): unknown => janusFacts(source({ config: { ...config, vision_config: vision } }));
    expect(read).toThrow(ModelError);
    expect(read).toThrow(message);
    expect(read).toThrow("config.json");
  });
});

describe("prompt", () => {
  interface Case {
    messages: unknown[];
    add_generation_prompt: boolean;
    text: string;
  }
  const goldens = janusGoldens();
  const facts = janusFacts(source(configsOf("tiny-ir")));

  it.each(goldens["template_cases"] as Case[])("template: $text", ({ text, ...variables }) => {
    expect(new Template(facts.chatTemplate).render(variables)).toBe(text);
  });

  it("begins as transformers has it", () => {
    const { full_text: full, template_text: text } = goldens["text_only"] as {
      full_text: string;
      template_text: string;
    };
    expect(full).toBe(facts.tokens.bos + facts.systemPrompt + text);
  });
});
