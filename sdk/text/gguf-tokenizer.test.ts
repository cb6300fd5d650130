import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ModelError, UnsupportedError } from "../core/errors.js";
import { GgufMetadata, type GgufFile, type GgufValue } from "../models/gguf/gguf-file.js";
import { ggufPreTokenizer, ggufPreTokenizerNames } from "./gguf-pre-tokenizers.js";
import { splitNode } from "./pre-tokenizer-rules.js";
import { LibraryTokenizerClass } from "./tokenizers-library.js";
import { Tokenizer } from "./tokenizer.js";

function fixture(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../test/fixtures/text/${name}`, import.meta.url), "utf8"));
}

function gguf(entries: Record<string, GgufValue | undefined>): GgufFile {
  const metadata = new GgufMetadata("model.gguf");
  for (const [key, value] of Object.entries(entries)) {
    if (value !== undefined) metadata.set(`tokenizer.ggml.${key}`, value);
  }
  return { version: 3, metadata, tensors: [], files: ["model.gguf"], fileSize: 0 };
}

describe("pre-tokenizers", () => {
  /** Ends of the pieces by Hugging Face tokenizers; see test/fixtures/text/scripts/make_pre_tokenizers.py. */
  const reference = fixture("pre-tokenizers.json") as { texts: string[]; ends: Record<string, number[][]> };

  it.each(Object.keys(reference.ends))("%s cuts text where the reference does", (name) => {
    const splits = ggufPreTokenizer(name)!.patterns.map(splitNode);
    const parts = { normalizer: null, post_processor: null, decoder: null, added_tokens: [] };
    const { pre_tokenizer: cut } = new LibraryTokenizerClass(
      {
        ...parts,
        pre_tokenizer: { type: "Sequence", pretokenizers: splits },
        model: { type: "BPE", vocab: {}, merges: [] },
      },
      {},
    );
    for (const [index, text] of reference.texts.entries()) {
      let end = 0;
      const ends = cut!(text, { section_index: 0 }).map((piece) => (end += Array.from(piece).length));
      expect({ text, ends }).toEqual({ text, ends: reference.ends[name]![index] });
    }
  });

  it("has a rule that compiles for every name", async () => {
    const names = ggufPreTokenizerNames();
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) {
      const definition = gguf({ model: "gpt2", pre: name, tokens: ["a", "b", "ab"], merges: ["a b"] });
      await expect(Tokenizer.fromGguf(definition), name).resolves.toBeInstanceOf(Tokenizer);
    }
  });
});

describe("SentencePiece vocabularies", () => {
  /** Ids by SentencePiece itself; see test/fixtures/text/scripts/make_sentencepiece.py. */
  const reference = fixture("sentencepiece.json") as {
    texts: string[];
    models: Record<
      string,
      { addSpacePrefix: boolean; tokens: string[]; scores: number[]; types: number[]; ids: number[][] }
    >;
  };

  it.each(Object.keys(reference.models))("%s: gives SentencePiece's ids, and the text back", async (name) => {
    const model = reference.models[name]!;
    const tokenizer = await Tokenizer.fromGguf(
      gguf({
        model: "llama",
        tokens: model.tokens,
        scores: Float32Array.from(model.scores),
        token_type: Int32Array.from(model.types),
        add_space_prefix: model.addSpacePrefix,
      }),
    );
    for (const [index, text] of reference.texts.entries()) {
      // SentencePiece takes control tokens in text as plain text, and does not prefix the text behind a user-defined token.
      if (text.includes("<think>") || text === "") continue;
      const ids = tokenizer.encode(text, { addSpecialTokens: false, allowControlTokens: false });
      expect({ text, ids }).toEqual({ text, ids: model.ids[index] });
      expect(tokenizer.decode(ids)).toBe(text);
    }
    expect(tokenizer.encode("a")[0]).toBe(1);
    expect(tokenizer.bosId).toBe(1);
    expect(tokenizer.eosId).toBe(2);
    expect(tokenizer.isControl(0)).toBe(true);
    expect(tokenizer.isControl(3)).toBe(false);
    expect(tokenizer.encode("x<think>y", { allowControlTokens: false })).toContain(3);
  });

  it("keeps the first space of a continuation", async () => {
    const { tokens, scores, types } = reference.models["prefix"]!;
    const tokenizer = await Tokenizer.fromGguf(
      gguf({ model: "llama", tokens, scores: Float32Array.from(scores), token_type: Int32Array.from(types) }),
    );
    const ids = tokenizer.encode("word", { addSpecialTokens: false });
    expect(tokenizer.decode(ids)).toBe("word");
    expect(tokenizer.decode(ids, { continuation: true })).toBe(" word");
  });
});

describe("definitionFromGguf", () => {
  const base = {
    model: "gpt2",
    pre: "gpt-2",
    tokens: ["<s>", "</s>", "<|eot_id|>", "<|call|>", "<|return|>", "<|end|>", "a", "b", "ab", "<think>"],
    token_type: Int32Array.of(3, 3, 3, 3, 3, 3, 1, 1, 1, 4),
    merges: ["a b"],
    bos_token_id: 0,
    eos_token_id: 1,
  };
  const load = (more: Record<string, GgufValue | undefined> = {}): Promise<Tokenizer> =>
    Tokenizer.fromGguf(gguf({ ...base, ...more }));

  it.each([
    ["gpt-2", undefined, [8]],
    ["gpt-2", true, [0, 8]],
    ["gpt-2", false, [8]],
    ["llama-bpe", undefined, [0, 8]],
    ["llama-bpe", false, [8]],
  ])("adds BOS to raw text: rule %s, flag %s", async (pre, flag, ids) => {
    const tokenizer = await load({ pre, add_bos_token: flag });
    expect(tokenizer.encode("ab")).toEqual(ids);
    expect(tokenizer.encode("ab", { addSpecialTokens: false })).toEqual([8]);
    expect(tokenizer.encode("<s>ab")).toEqual([0, 8]);
  });

  it("adds EOS where the file says so", async () => {
    expect((await load({ add_eos_token: true })).encode("ab")).toEqual([8, 1]);
  });

  it("knows the tokens that end an answer", async () => {
    expect((await load()).stopIds).toEqual([1, 2, 3, 4]);
    expect((await load({ eot_token_id: 7, eom_token_id: 8 })).stopIds).toEqual([1, 7, 8, 2, 3, 4]);
    expect((await load({ eos_token_id: undefined })).eosId).toBeUndefined();
  });

  it("tells control tokens from added ones", async () => {
    const tokenizer = await load();
    expect(tokenizer.isControl(2)).toBe(true);
    expect(tokenizer.isControl(9)).toBe(false);
    expect(tokenizer.encode("a<think>", { allowControlTokens: false })).toEqual([6, 9]);
    expect(tokenizer.decode([6, 2, 9, 7])).toBe("a<think>b");
    expect(tokenizer.decode([6, 2, 9, 7], { skipSpecialTokens: false })).toBe("a<|eot_id|><think>b");
  });

  it("refuses what it does not know by name, and files without a tokenizer", async () => {
    await expect(load({ model: "rwkv" })).rejects.toMatchObject({ code: "unsupported", subject: "rwkv" });
    await expect(load({ pre: "nobody" })).rejects.toMatchObject({ code: "unsupported", subject: "nobody" });
    await expect(load({ pre: "nobody" })).rejects.toBeInstanceOf(UnsupportedError);
    await expect(load({ tokens: undefined })).rejects.toBeInstanceOf(ModelError);
    await expect(load({ merges: undefined })).rejects.toThrow(/model\.gguf has no merges/);
    await expect(load({ model: "llama" })).rejects.toThrow(/0 scores for 10 tokens/);
  });
});
