import { describe, expect, it } from "vitest";
import { generationLayer, mergeGeneration, type GenerationOptions } from "../core/generation-options.js";
import type { NativeGeneratorInfo } from "../core/native-types.js";
import { planRequest } from "./request.js";

const INFO: NativeGeneratorInfo = {
  attention: "paged",
  device: "CPU",
  vocabSize: 300,
  hiddenSize: 0,
  blockSize: 32,
  kvPrecision: "u8",
  kvBytesPerToken: 1,
  kvCapacityTokens: 1000,
  maxRequestTokens: 100,
  fromCache: false,
  shared: false,
  fallbackReason: "",
  timings: { readMs: 0, convertMs: 0, compileMs: 0, importMs: 0, warmUpMs: 0 },
};

function plan(
  promptTokens: number,
  options: GenerationOptions = {},
  info: Partial<NativeGeneratorInfo> = {},
  context = 100,
) {
  const model = {
    facts: { architecture: "llama", contextLength: context },
    stopTokenIds: [2, 9],
    generator: { info: { ...INFO, ...info } },
  };
  const ids = Array.from({ length: promptTokens }, (_, index) => index);
  return planRequest(model, { ids }, mergeGeneration([generationLayer("call", options)]));
}

const thrownBy = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
};

describe("planRequest", () => {
  it("takes what is left of the context where maxNewTokens is not given or too high", () => {
    expect(plan(40).request.maxNewTokens).toBe(60);
    expect(plan(40, { maxNewTokens: 500 }).request.maxNewTokens).toBe(60);
    expect(plan(40, { maxNewTokens: 5 }).request.maxNewTokens).toBe(5);
    expect(plan(40, { maxNewTokens: 0 }).request.maxNewTokens).toBe(0);
  });

  it("accepts a prompt that leaves one token, and refuses a longer one", () => {
    expect(plan(99).request.maxNewTokens).toBe(1);
    for (const tokens of [100, 101, 300]) {
      expect(thrownBy(() => plan(tokens))).toMatchObject({ code: "context-length", limit: 99, requested: tokens });
    }
    expect(thrownBy(() => plan(100))).toHaveProperty("message", expect.stringContaining("the model's context is 100"));
  });

  it("refuses a request that the KV cache can never hold, unless the model's context ends it first", () => {
    const small = { kvCapacityTokens: 64, maxRequestTokens: 64 };
    expect(thrownBy(() => plan(40, { maxNewTokens: 30 }, small))).toMatchObject({
      code: "context-length",
      limit: 64,
      requested: 70,
    });
    expect(thrownBy(() => plan(64, {}, small))).toHaveProperty("message", expect.stringContaining("larger kvCache"));
    expect(plan(40, { maxNewTokens: 24 }, small).request.maxNewTokens).toBe(24);
    expect(plan(40, {}, small).request.maxNewTokens).toBe(24);
    expect(plan(40, { maxNewTokens: 500 }, { kvCapacityTokens: 100 }).request.maxNewTokens).toBe(60);
    expect(thrownBy(() => plan(40, { maxNewTokens: 5000 }, { maxRequestTokens: 1000 }, 0))).toMatchObject({
      limit: 1000,
    });
  });

  it("refuses an empty prompt and tokens outside the vocabulary", () => {
    expect(thrownBy(() => plan(0))).toMatchObject({ code: "option", path: "prompt" });
    expect(thrownBy(() => plan(5, { stopTokenIds: [3, 300] }))).toMatchObject({ path: "stopTokenIds[1]" });
    expect(thrownBy(() => plan(5, { logitBias: { 300: 1 } }))).toMatchObject({ path: "logitBias.300" });
  });

  it("joins the model's stop tokens with the call's; ignoreEos leaves the call's", () => {
    expect(plan(5, { stopTokenIds: [9, 7] }).request.stopTokenIds).toEqual([2, 9, 7]);
    expect(plan(5, { stopTokenIds: [7], ignoreEos: true, maxNewTokens: 4 }).request.stopTokenIds).toEqual([7]);
  });

  it("hands sampling options on", () => {
    const options: GenerationOptions = {
      temperature: 0.7,
      topK: 5,
      topP: 0.9,
      minP: 0.1,
      repetitionPenalty: 1.1,
      presencePenalty: 0.2,
      frequencyPenalty: 0.3,
      logitBias: { 4: -100, 7: 2.5 },
      seed: 11,
      topLogprobs: 2,
      minNewTokens: 3,
    };
    const { request, seed } = plan(5, options);
    expect(seed).toBe(11);
    expect(request.minNewTokens).toBe(3);
    expect(request.sampling).toEqual({
      temperature: 0.7,
      topK: 5,
      topP: 0.9,
      minP: 0.1,
      repetitionPenalty: 1.1,
      presencePenalty: 0.2,
      frequencyPenalty: 0.3,
      logitBias: [
        [4, -100],
        [7, 2.5],
      ],
      seed: 11,
      logprobs: 2,
    });
    expect(plan(5, { logprobs: true }).request.sampling.logprobs).toBe(0);
    expect(plan(5).request.sampling.logprobs).toBe(-1);
  });

  it("draws another seed each time, and reports the one it hands on", () => {
    const plans = Array.from({ length: 20 }, () => plan(5));
    expect(new Set(plans.map(({ seed }) => seed)).size).toBeGreaterThan(15);
    for (const { seed, request } of plans) expect(request.sampling.seed).toBe(seed);
  });
});
