import { describe, expect, it } from "vitest";
import { ModelError } from "../core/errors.js";
import type { WhisperModelSource } from "../models/whisper-model.js";
import { resolveWhisperModel } from "../models/whisper-model.js";
import { Tokenizer } from "../text/tokenizer.js";
import { TINY, TINY_WHISPER } from "../testing/whisper-fixture.js";
import { readWhisperFacts } from "./whisper-facts.js";

const source = await resolveWhisperModel(TINY_WHISPER, { cacheFolder: "" });
const tokenizer = await Tokenizer.fromFolder(TINY_WHISPER);

function facts(changes: Partial<Record<"config" | "generationConfig" | "preprocessorConfig", object>> = {}) {
  const changed: WhisperModelSource = { ...source };
  for (const [name, fields] of Object.entries(changes)) {
    Object.assign(changed, { [name]: { ...changed[name as "config"], ...fields } });
  }
  return readWhisperFacts(changed, tokenizer);
}

/** Everything that `generation_config.json` says taken away. */
const SILENT = Object.fromEntries(Object.keys(source.generationConfig).map((name) => [name, undefined]));

describe("a complete generation_config.json", () => {
  it("gives every fact", () => {
    expect(facts()).toEqual({
      tokens: {
        endOfText: TINY.endOfText,
        startOfTranscript: TINY.startOfTranscript,
        noTimestamps: TINY.noTimestamps,
        timestampBegin: TINY.timestampBegin,
        noSpeech: TINY.noSpeech,
      },
      startOfPrevious: TINY.startOfPrevious,
      tasks: { transcribe: TINY.transcribe, translate: TINY.translate },
      languages: new Map([
        ["de", 259],
        ["en", 258],
        ["fr", 260],
      ]),
      controlIds: [257, 261, 262, 263, 264, 265],
      suppressTokens: [1, 2, 7, 257, 261, 262, 263, 264, 265],
      beginSuppressTokens: [32, 256],
      alignmentHeads: [
        [0, 0],
        [1, 1],
      ],
      melBins: 80,
      maxPositions: 448,
      maxInitialTimestampIndex: 50,
      windowBytes: 2 * 2 * 1500 * 16 * 4,
    });
  });

  it("takes the first of several end tokens", () => {
    expect(facts({ generationConfig: { eos_token_id: [256, 3] } }).tokens.endOfText).toBe(256);
  });
});

describe("missing fields", () => {
  it("come from the tokenizer's added tokens", () => {
    const { tokens, languages, tasks, startOfPrevious, suppressTokens, beginSuppressTokens, alignmentHeads } = facts({
      generationConfig: { ...SILENT, is_multilingual: true },
    });
    expect(tokens).toEqual(facts().tokens);
    expect(tasks).toEqual(facts().tasks);
    expect(startOfPrevious).toBe(TINY.startOfPrevious);
    expect(Object.fromEntries(languages)).toEqual({ en: 258, de: 259, fr: 260 });
    expect(suppressTokens).toBeUndefined();
    // A blank and the end of the text.
    expect([...beginSuppressTokens].sort()).toEqual(
      [...tokenizer.encode(" ", { addSpecialTokens: false }), 256].sort(),
    );
    expect(alignmentHeads).toEqual([]);
  });

  it("an English-only model has neither languages nor tasks", () => {
    const { languages, tasks } = facts({ generationConfig: { is_multilingual: false, lang_to_id: undefined } });
    expect(languages.size).toBe(0);
    expect(tasks).toEqual({ transcribe: undefined, translate: undefined });
  });

  it("-1 in suppress_tokens is no token", () => {
    expect(facts({ generationConfig: { suppress_tokens: [-1] } }).suppressTokens).toEqual([]);
  });

  it("the number of bands is that of the preprocessor, else of the configuration", () => {
    expect(facts({ preprocessorConfig: { feature_size: 128 } }).melBins).toBe(128);
    expect(facts({ preprocessorConfig: { feature_size: undefined }, config: { num_mel_bins: 128 } }).melBins).toBe(128);
  });
});

describe("what cannot be right is a ModelError naming file and field", () => {
  it.each([
    ["no_timestamps_token_id", 1768],
    ["decoder_start_token_id", 99_999],
    ["prev_sot_token_id", 5000],
    ["suppress_tokens", [1, 1768]],
    ["begin_suppress_tokens", [4000]],
    ["lang_to_id", { "<|en|>": 1800 }],
    ["task_to_id", { transcribe: 262, translate: 1800 }],
    ["eos_token_id", "256"],
    ["alignment_heads", [[2, 0]]],
    ["alignment_heads", [[0, 2]]],
    ["alignment_heads", [[0]]],
  ])("%s: %j", (field, value) => {
    const work = () => facts({ generationConfig: { [field]: value } });
    expect(work).toThrow(ModelError);
    expect(work).toThrow(field);
    expect(work).toThrow("generation_config.json");
  });

  it("a tokenizer of another model", () => {
    expect(() => facts({ generationConfig: { decoder_start_token_id: 300 } })).toThrow(/do not belong together/);
  });

  it("a multilingual model without languages", () => {
    const work = () => facts({ generationConfig: { is_multilingual: true, lang_to_id: {} } });
    expect(work).toThrow(/names no languages/);
  });
});
