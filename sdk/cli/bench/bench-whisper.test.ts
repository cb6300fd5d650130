import { describe, expect, it } from "vitest";
import type { Transcript } from "../../index.js";
import { summarizeWhisper, toWhisperRun, whisperBenchReport, type WhisperRun } from "./bench-whisper-report.js";

const transcript: Transcript = {
  ...{ text: "four of clubs", language: "en", languageProbability: 1, duration: 40, finishReason: "stop" },
  segments: [
    {
      ...{ start: 0, end: 3, text: " four of clubs", tokens: [1, 2, 3, 4, 5], temperature: 0 },
      ...{ avgLogprob: -0.2, compressionRatio: 1, noSpeechProb: 0 },
    },
  ],
  metrics: {
    ...{ loadMs: 900, ttftMs: 1500, tpotMs: 10, tokensPerSecond: 100, durationMs: 3990, queueMs: 0 },
    stages: { tokenize: 0, preprocess: 100, encode: 2400, prefill: 200, decode: 800, detokenize: 0 },
    ...{ realTimeFactor: 0.1, windows: 2, fallbacks: 1 },
  },
};

it("a run has the times of its stages, and the rest", () => {
  expect(toWhisperRun(transcript, 4000)).toEqual({
    ...{ durationMs: 4000, realTimeFactor: 0.1, firstSegmentMs: 1500, melMs: 100, encoderMs: 2400 },
    ...{ decoderMs: 1000, otherMs: 500, windows: 2, fallbacks: 1, tokens: 5 },
  });
});

describe("the report", () => {
  const runOf = (durationMs: number): WhisperRun => ({ ...toWhisperRun(transcript, durationMs) });
  const runs = [runOf(4400), runOf(4000), runOf(4200)];

  it("takes medians", () => expect(summarizeWhisper(runs)).toEqual({ ...runOf(4200), otherMs: 700 }));

  it("shows each run, where the time goes, and word errors", () => {
    const text = whisperBenchReport({
      ...{ model: "m", device: "CPU", audio: "a.wav", audioDuration: 40, batchSize: 4, loadMs: 900.4 },
      ...{ peakRssBytes: 500e6, text: "four of clubs", wordErrors: { errors: 1, words: 8, rate: 0.125 } },
      ...{ runs, summary: summarizeWhisper(runs) },
    });
    expect(text).toMatch(/^a\.wav \(40\.0 s\), m on CPU, 4 windows at once\n/);
    expect(text).toMatch(/^ *2 +4\.00 s +0\.100 +1\.50 s +100\.0 ms +2400\.0 ms +1000\.0 ms +500\.0 ms$/m);
    expect(text).toMatch(/^median +4\.20 s/m);
    expect(text).toMatch(/Encoder +1200\.0 ms a window, 2 windows/);
    expect(text).toMatch(/Decoder +200\.0 ms a token, 5 tokens, 1 windows decoded again/);
    expect(text).toMatch(/Word errors +1 of 8 words, 12\.5 %/);
    expect(text).toMatch(/Peak memory +500 MB/);
  });
});
