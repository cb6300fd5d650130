import { describe, expect, it } from "vitest";
import { RgbImage, type ImageResult, type VLMResult } from "../../index.js";
import { imageBenchReport, stepFloorMs, toImageRun } from "./bench-image-report.js";
import { toVlmRun, vlmBenchReport } from "./bench-vlm-report.js";
import { meanOf } from "./bench-report.js";

const stages = { tokenize: 1, preprocess: 20, encode: 300, prefill: 400, decode: 5000, detokenize: 6 };

it("means are those of each figure", () => {
  expect(
    meanOf([
      { a: 1, b: 10 },
      { a: 2, b: 20 },
      { a: 6, b: 0 },
    ]),
  ).toEqual({ a: 3, b: 10 });
});

describe("bench vlm", () => {
  const result: VLMResult = {
    text: "a cat",
    tokens: [1, 2],
    finishReason: "length",
    usage: { promptTokens: 600, cachedPromptTokens: 0, completionTokens: 64 },
    seed: 0,
    metrics: { loadMs: 900, ttftMs: 725, tpotMs: 80, tokensPerSecond: 12.5, durationMs: 5800, queueMs: 0, stages },
  };
  const run = toVlmRun(result);

  it("takes the figures of an answer", () => {
    expect(run).toEqual({
      ...{ promptTokens: 600, completionTokens: 64, firstTokenMs: 725, preprocessMs: 20, encodeMs: 300 },
      ...{ prefillMs: 400, laterTokenMs: 80, tokensPerSecond: 12.5, durationMs: 5800 },
    });
  });

  it("shows init time, first-token latency, throughput, memory", () => {
    const runs = [run, { ...run, firstTokenMs: 775 }];
    const text = vlmBenchReport({
      ...{ model: "m", device: "CPU", images: ["a.jpg"], prompt: "p", text: "a cat", loadMs: 900.4 },
      ...{ peakRssBytes: 2.5e9, runs, average: meanOf(runs) },
    });
    expect(text).toMatch(/^a\.jpg, m on CPU; nothing is kept between runs\n/);
    expect(text).toMatch(/^ *2 +600 +64 +775\.0 ms +20\.0 ms +300\.0 ms +400\.0 ms +80\.0 ms +12\.5$/m);
    expect(text).toMatch(/^average +600 +64 +750\.0 ms/m);
    expect(text).toMatch(/^Init time +900\.4 ms$/m);
    expect(text).toMatch(/^First token +750\.0 ms on average, image preparation included$/m);
    expect(text).toMatch(/^Throughput +12\.5 tokens a second/m);
    expect(text).toMatch(/^Peak memory +2\.5 GB$/m);
  });
});

describe("bench image", () => {
  const result: ImageResult = {
    images: [1, 2].map(() => new RgbImage(1, 1, new Uint8Array(3))),
    tokens: [[1], [2]],
    seeds: [1, 2],
    finishReason: "stop",
    complete: true,
    metrics: {
      ...{ loadMs: 900, ttftMs: 450, tpotMs: 200, tokensPerSecond: 10, durationMs: 130_000, queueMs: 0 },
      stages: { ...stages, pictures: 14_000 },
    },
  };
  const run = toImageRun(result);

  it("takes the figures of a call, by picture", () => {
    expect(run).toEqual({
      ...{ pictureMs: 65_000, firstTokenMs: 450, stepMs: 200, tokensPerSecond: 10, decodeMs: 7000 },
      durationMs: 130_000,
    });
  });

  it("shows init time, picture latency, memory and the floor", () => {
    const report = {
      ...{ model: "m", device: "CPU", prompt: "p", n: 2, guidance: 5, imageTokens: 576, loadMs: 4000 },
      ...{ peakRssBytes: 3e9, stepWeightBytes: 1.27e9, bandwidthBytesPerSecond: 16e9, runs: [run], average: run },
    };
    expect(stepFloorMs(report)).toBeCloseTo(79.375);
    const text = imageBenchReport(report);
    expect(text).toMatch(/^2 pictures at once, guidance 5, m on CPU\n/);
    expect(text).toMatch(/^ *1 +130\.00 s +65\.00 s +450\.0 ms +200\.0 ms +10\.0 +7\.00 s$/m);
    expect(text).toMatch(/^Init time +4000\.0 ms$/m);
    expect(text).toMatch(/^Picture +65\.00 s on average: 576 steps and 7\.00 s of decoding$/m);
    expect(text).toMatch(/^Floor +79\.4 ms a step: 1\.3 GB of weights read at 16\.0 GB\/s \(measured\)$/m);
  });
});
