import { describe, expect, it } from "vitest";
import {
  generationLayer,
  layerOfGenerationConfig,
  mergeGeneration,
  type GenerationOptions,
} from "./generation-options.js";

const call = (options: GenerationOptions) => generationLayer("call", options);
const chat = (options: GenerationOptions) => generationLayer("chat", options);

describe("precedence", () => {
  it("is call > chat > generation_config.json > default, each with its source", () => {
    const config = layerOfGenerationConfig({ do_sample: true, temperature: 0.6, top_p: 0.9, top_k: 20, min_p: 0.1 });
    const { values, sources } = mergeGeneration([
      call({ temperature: 0.1 }),
      chat({ temperature: 0.2, topP: 0.8 }),
      config.layer,
    ]);
    expect(values).toMatchObject({ temperature: 0.1, topP: 0.8, topK: 20, minP: 0.1, repetitionPenalty: 1 });
    expect(sources).toMatchObject({
      temperature: "call",
      topP: "chat",
      topK: "generation_config.json",
      repetitionPenalty: "default",
    });
  });

  it("takes undefined for not set", () => {
    const { sources } = mergeGeneration([call({ topP: undefined }), chat({ topP: 0.5 })]);
    expect(sources.topP).toBe("chat");
  });

  it("lets an empty stop list override the chat's", () => {
    expect(mergeGeneration([call({ stop: [] }), chat({ stop: "x" })]).values.stop).toEqual([]);
    expect(mergeGeneration([chat({ stop: "x" })]).values.stop).toEqual(["x"]);
  });
});

describe("generation_config.json", () => {
  it("is greedy where it does not ask for sampling, and says so", () => {
    const { layer, notes } = layerOfGenerationConfig({ temperature: 0.6, repetition_penalty: 1.1 });
    expect(mergeGeneration([layer]).values).toMatchObject({ temperature: 0, repetitionPenalty: 1.1 });
    expect(notes.join()).toContain("temperature 0.6");
  });

  it("samples at temperature 1 where it asks for sampling only", () => {
    expect(mergeGeneration([layerOfGenerationConfig({ do_sample: true }).layer]).values.temperature).toBe(1);
  });

  it("leaves out values that cannot be used, with a note", () => {
    const { layer, notes } = layerOfGenerationConfig({ top_p: 7, top_k: 5, max_new_tokens: "many", min_p: null });
    expect(mergeGeneration([layer]).values).toMatchObject({ topP: 1, topK: 5, maxNewTokens: undefined });
    expect(notes).toHaveLength(2);
    expect(notes[0]).toContain("max_new_tokens");
  });
});

describe("contradictions", () => {
  it.each<[string, GenerationOptions]>([
    ["minNewTokens", { minNewTokens: 5, maxNewTokens: 4 }],
    ["ignoreEos", { ignoreEos: true }],
    ["topLogprobs", { logprobs: false, topLogprobs: 2 }],
  ])("%s", (path, options) => {
    expect(() => mergeGeneration([call(options)])).toThrow(expect.objectContaining({ path, code: "option" }));
  });

  it("are looked for across layers", () => {
    expect(() => mergeGeneration([call({ maxNewTokens: 3 }), chat({ minNewTokens: 5 })])).toThrow(/minNewTokens/);
    const config = layerOfGenerationConfig({ min_new_tokens: 5 }).layer;
    expect(mergeGeneration([call({ maxNewTokens: 3 }), config]).values.minNewTokens).toBe(3);
  });
});

describe("notes", () => {
  it("tell options without effect", () => {
    expect(mergeGeneration([call({ topP: 0.5, seed: 1 })]).notes).toEqual([
      "topP, seed: no effect, the answer is greedy (temperature 0).",
    ]);
    expect(mergeGeneration([call({ temperature: 1, topP: 0.5 })]).notes).toEqual([]);
  });
});

it("topLogprobs implies logprobs", () => {
  expect(mergeGeneration([call({ topLogprobs: 3 })]).values).toMatchObject({ logprobs: true, topLogprobs: 3 });
});
