import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ModelError } from "../../../../core/errors.js";
import type { WhisperShape } from "./whisper-shape.js";
import {
  whisperConfig,
  whisperGenerationConfig,
  whisperPreprocessorConfig,
  whisperSpecialTokensMap,
  whisperTokenizerConfig,
} from "./whisper-files.js";
import { completeTokenizer, readWhisperTokens } from "./whisper-tokenizer.js";

type Json = Record<string, unknown>;
const read = (path: string): Json =>
  JSON.parse(readFileSync(new URL(`../../../../../test/fixtures/whisper/${path}`, import.meta.url), "utf8")) as Json;
const tokenizer = (): Json => read("ct2-tiny/tokenizer.json");

/** What the project's Python tool (a converter of the same files, written apart from this one) derives. */
const golden = read("golden/ct2-tiny.json") as { addedTokens: unknown[] } & Record<
  "english" | "multilingual",
  Record<string, Json>
>;

const SHAPE: WhisperShape = {
  ...{ width: 16, melBands: 80, vocabularySize: 1768, sourcePositions: 1500, targetPositions: 448, tied: true },
  encoder: { layers: 2, heads: 2, inner: 32 },
  decoder: { layers: 2, heads: 2, inner: 32 },
};
/** The lists that only config.json of the checkpoint knows. */
const LISTS = ["suppress_tokens", "begin_suppress_tokens", "alignment_heads"];

describe.each([
  ["english", 1768],
  ["multilingual", 51_865],
] as const)("files of an %s model equal the reference's", (kind, vocabularySize) => {
  const expected = golden[kind];
  const shape = { ...SHAPE, vocabularySize };
  const tokens = readWhisperTokens(tokenizer(), "tokenizer.json");

  it("config.json", () => expect(whisperConfig(shape, tokens)).toEqual(expected["config"]));

  it("generation_config.json", () => {
    const derived = Object.entries(expected["generation"]!).filter(([name]) => !LISTS.includes(name));
    expect(whisperGenerationConfig(shape, tokens)).toEqual(Object.fromEntries(derived));
  });

  it("tokenizer_config.json and special_tokens_map.json", () => {
    expect(whisperTokenizerConfig(tokens)).toEqual(expected["tokenizerConfig"]);
    expect(whisperSpecialTokensMap(tokens)).toEqual(expected["specialTokensMap"]);
  });
});

it("preprocessor_config.json equals the reference's", () => {
  expect(whisperPreprocessorConfig(80)).toEqual(golden.english["preprocessor"]);
  expect(whisperPreprocessorConfig(128)).toMatchObject({ feature_size: 128 });
});

describe("timestamps", () => {
  it("are added where the tokenizer ends before them", () => {
    const value = tokenizer();
    expect(completeTokenizer(value, 1768, true, "tokenizer.json")).toBe(1501);
    const added = value["added_tokens"] as Json[];
    expect(added.map(({ id, content, special }) => [id, content, special])).toEqual(golden.addedTokens);
  });

  it("are left alone where they are", () => {
    const value = read("tiny-hf/tokenizer.json");
    const before = structuredClone(value);
    expect(completeTokenizer(value, 1768, true, "tokenizer.json")).toBe(0);
    expect(value).toEqual(before);
  });
});

describe("a tokenizer of another model is told", () => {
  it.each([1767, 1769, 51_864, 267, 200])("an embedding of %d rows", (rows) => {
    expect(() => completeTokenizer(tokenizer(), rows, true, "tokenizer.json")).toThrow(ModelError);
    expect(() => completeTokenizer(tokenizer(), rows, true, "tokenizer.json")).toThrow(/1768 tokens.*embedding \d+/);
  });

  it("rows may be left over only where the checkpoint itself names the tokens", () => {
    expect(completeTokenizer(tokenizer(), 1792, false, "tokenizer.json")).toBe(1501);
    expect(() => completeTokenizer(tokenizer(), 1700, false, "tokenizer.json")).toThrow(ModelError);
  });

  it("timestamps in another place", () => {
    const value = tokenizer();
    (value["added_tokens"] as Json[]).push({ id: 300, content: "<|0.00|>" });
    expect(() => completeTokenizer(value, 301, true, "tokenizer.json")).toThrow(ModelError);
  });

  it.each([{}, { added_tokens: null }, { added_tokens: [null, 5, { id: "1", content: 2 }] }, { model: { vocab: 7 } }])(
    "%j has none of Whisper's tokens",
    (value) => expect(() => readWhisperTokens(value, "tokenizer.json")).toThrow(/not the tokenizer of a Whisper model/),
  );
});
