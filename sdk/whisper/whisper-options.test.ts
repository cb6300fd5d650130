import { describe, expect, it } from "vitest";
import { OptionError, UnsupportedError } from "../core/errors.js";
import { ENGLISH_ONLY, TINY, useFakeWhispers } from "../testing/whisper-fixture.js";
import type { WhisperPipeline } from "./whisper-pipeline.js";

const { load, variant } = useFakeWhispers();

function refusal(whisper: WhisperPipeline, options: unknown): OptionError | UnsupportedError {
  try {
    whisper.explain(options as object);
  } catch (error) {
    if (OptionError.isInstance(error) || UnsupportedError.isInstance(error)) return error;
    throw error;
  }
  throw new Error(`${JSON.stringify(options)} was taken`);
}

describe("values", () => {
  it.each([
    [{ language: 5 }, "language"],
    [{ task: "summarize" }, "task"],
    [{ timestamps: "words" }, "timestamps"],
    [{ timestamps: true }, "timestamps"],
    [{ mode: "parallel" }, "mode"],
    [{ batchSize: 0 }, "batchSize"],
    [{ batchSize: 2.5 }, "batchSize"],
    [{ temperature: -0.1 }, "temperature"],
    [{ temperature: 1.5 }, "temperature"],
    [{ temperature: [] }, "temperature"],
    [{ temperature: [0, 0.4, 0.2] }, "temperature"],
    [{ temperature: [0, 0] }, "temperature"],
    [{ temperature: Number.NaN }, "temperature"],
    [{ compressionRatioThreshold: 0 }, "compressionRatioThreshold"],
    [{ logprobThreshold: 1 }, "logprobThreshold"],
    [{ noSpeechThreshold: 1.1 }, "noSpeechThreshold"],
    [{ conditionOnPreviousText: "yes" }, "conditionOnPreviousText"],
    [{ prompt: ["a"] }, "prompt"],
    [{ hotwords: [1] }, "hotwords[0]"],
    [{ beamSize: 0 }, "beamSize"],
    [{ patience: 0 }, "patience"],
    [{ bestOf: 0 }, "bestOf"],
    [{ lengthPenalty: 2 }, "lengthPenalty"],
    [{ maxNewTokens: 0 }, "maxNewTokens"],
    [{ maxNewTokens: 448 }, "maxNewTokens"],
    [{ suppressTokens: [-1] }, "suppressTokens[0]"],
    [{ suppressTokens: [1, TINY.vocabSize] }, "suppressTokens[1]"],
    [{ suppressTokens: "all" }, "suppressTokens"],
    [{ maxInitialTimestamp: -1 }, "maxInitialTimestamp"],
    [{ seed: -1 }, "seed"],
    [{ seed: 2 ** 53 }, "seed"],
    [{ range: [5, 5] }, "range"],
    [{ range: [-1, 5] }, "range[0]"],
    [{ range: [] }, "range"],
    [{ range: "1-2" }, "range"],
    [{ signal: {} }, "signal"],
    [{ onProgress: 1 }, "onProgress"],
    [{ prompt: null }, "prompt"],
  ])("%j is refused at %s", async (options, path) => {
    const { whisper } = await load();
    expect(refusal(whisper, options)).toMatchObject({ path });
  });

  it.each([
    [{ language: null }],
    [{ temperature: 0 }],
    [{ temperature: [0, 0.5, 1] }],
    [{ compressionRatioThreshold: null, logprobThreshold: null, noSpeechThreshold: null, maxInitialTimestamp: null }],
    [{ lengthPenalty: null, hallucinationSilenceThreshold: null }],
    [{ suppressTokens: [] }],
    [{ range: [3] }],
    [{ range: [3, 4.5] }],
    [{ timestamps: false }],
    [{ mode: "batched", batchSize: 1 }],
    [{ hotwords: ["Ann", "Bob"], prompt: "" }],
  ] as const)("%j is taken", async (options) => {
    const { whisper } = await load();
    expect(() => whisper.explain(options)).not.toThrow();
  });
});

describe("names that other software uses", () => {
  it.each([
    ["initial_prompt", "prompt"],
    ["word_timestamps", "timestamps"],
    ["return_timestamps", "timestamps"],
    ["beam_size", "beamSize"],
    ["num_beams", "beamSize"],
    ["condition_on_previous_text", "conditionOnPreviousText"],
    ["no_speech_threshold", "noSpeechThreshold"],
    ["log_prob_threshold", "logprobThreshold"],
    ["vad_filter", "mode"],
    ["clip_timestamps", "range"],
    ["entropy_thold", "compressionRatioThreshold"],
    ["langauge", "language"],
    ["hallucination_silence_threshold", "hallucinationSilenceThreshold"],
    ["max_initial_timestamp", "maxInitialTimestamp"],
    ["max_new_tokens", "maxNewTokens"],
    ["best_of", "bestOf"],
    ["batch_size", "batchSize"],
  ])("%s suggests %s", async (name, suggestion) => {
    const { whisper } = await load();
    expect(refusal(whisper, { [name]: 1 })).toMatchObject({ path: name, suggestion });
  });

  it("load() suggests too", async () => {
    await expect(load({}, { compute_type: "int8" } as object)).rejects.toMatchObject({ suggestion: "weights" });
  });
});

describe("languages", () => {
  it.each(["en", "EN", "<|en|>", "english"])("%s is English, for either task", async (language) => {
    const { whisper } = await load();
    for (const task of ["transcribe", "translate"] as const) {
      expect(whisper.explain({ language, task }).options["language"]).toEqual({ value: "en", source: "call" });
    }
  });

  it.each(["xx", ""])("%j is refused with the list", async (language) => {
    const { whisper } = await load();
    expect(refusal(whisper, { language }).message).toContain("(de, en, fr)");
  });

  it.each([undefined, null])("%s lets the model find out", async (language) => {
    const { whisper } = await load();
    expect(whisper.explain({ language }).options["language"]).toEqual({
      value: "found out by the model",
      source: "default",
    });
  });

  it("an English-only model takes English alone, and no translation", async () => {
    const { whisper } = await load({}, {}, { model: variant(ENGLISH_ONLY) });
    for (const language of ["en", "EN", "<|en|>", "english", undefined, null]) {
      expect(() => whisper.explain({ language })).not.toThrow();
    }
    for (const language of ["de", "german", "xx", ""])
      expect(refusal(whisper, { language })).toMatchObject({ path: "language" });
    expect(refusal(whisper, { task: "translate" })).toMatchObject({ path: "task" });
    expect(refusal(whisper, { detectLanguagePerWindow: true })).toMatchObject({ path: "detectLanguagePerWindow" });
    expect(whisper.info).toMatchObject({ languages: ["en"], multilingual: false });
  });
});

describe("options that do not go together", () => {
  it.each([
    [{ language: "en", detectLanguagePerWindow: true }, "detectLanguagePerWindow"],
    [{ mode: "sequential", batchSize: 4 }, "batchSize"],
    [{ mode: "batched", conditionOnPreviousText: true }, "conditionOnPreviousText"],
    [{ batchSize: 4, conditionOnPreviousText: true }, "conditionOnPreviousText"],
    [{ beamSize: 5, temperature: 0.2 }, "beamSize"],
    [{ hallucinationSilenceThreshold: 2 }, "hallucinationSilenceThreshold"],
    [{ hallucinationSilenceThreshold: 2, timestamps: "word", mode: "batched" }, "hallucinationSilenceThreshold"],
    [{ carryPrompt: true }, "carryPrompt"],
  ])("%j", async (options, path) => {
    const { whisper } = await load();
    expect(refusal(whisper, options)).toMatchObject({ path });
  });

  it("words need alignment heads", async () => {
    const { whisper } = await load(
      {},
      {},
      { model: variant({ "generation_config.json": { alignment_heads: undefined } }) },
    );
    expect(refusal(whisper, { timestamps: "word" })).toMatchObject({ subject: "word timestamps" });
    expect(whisper.info.wordTimestamps).toBe(false);
  });
});

describe("explain", () => {
  it("tells each option's value and source", async () => {
    const { whisper } = await load();
    const { options, load: loading, notes } = whisper.explain({ temperature: 0, seed: 1, patience: 2, batchSize: 3 });
    expect(options).toMatchObject({
      temperature: { value: [0], source: "call" },
      mode: { value: "batched", source: "default" },
      batchSize: { value: 3, source: "call" },
      suppressTokens: { value: [1, 2, 7, 257, 261, 262, 263, 264, 265], source: "generation_config.json" },
      maxInitialTimestamp: { value: 1, source: "generation_config.json" },
      noSpeechThreshold: { value: 0.6, source: "default" },
      maxNewTokens: { value: 224, source: "default" },
    });
    expect(options).not.toHaveProperty("pause");
    expect(loading).toMatchObject({
      device: { value: "CPU" },
      languages: { value: ["de", "en", "fr"], source: "model" },
    });
    expect(notes.join(" ")).toMatch(/patience: no effect.*seed: no effect/);
  });

  it("the default batch is bounded by memory", async () => {
    const { whisper } = await load();
    expect(whisper.explain({ mode: "batched" }).options["batchSize"]).toEqual({ value: 8, source: "default" });
    const large = { "config.json": { decoder_layers: 32, d_model: 1280 } };
    const { whisper: limited } = await load({}, {}, { model: variant(large) });
    // 8 GB free: a quarter holds two windows of 0.49 GB, each of them twice.
    expect(limited.explain({ mode: "batched" }).options["batchSize"]!.value).toBe(2);
  });
});
