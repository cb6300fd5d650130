import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { ModelError, OptionError, UnsupportedError } from "../core/errors.js";
import { Tokenizer } from "./tokenizer.js";

const FIXTURES = new URL("../../test/fixtures/", import.meta.url);

/** See test/fixtures/text/scripts/make_tokenizer_json.py. */
const reference = JSON.parse(readFileSync(new URL("text/tokenizer-json.json", FIXTURES), "utf8")) as {
  texts: string[];
  variants: Record<
    string,
    { tokenizer: Record<string, unknown>; ids: number[][]; decoded: string[]; decodedAll: string[] }
  >;
};

function variant(name: string, config: Record<string, unknown> = {}): Promise<Tokenizer> {
  return Tokenizer.fromFiles({ file: "tokenizer.json", tokenizer: reference.variants[name]!.tokenizer, config });
}

/** In the reference one invalid byte spoils its whole run of byte tokens, so that texts with U+FFFD may differ. */
const readable = (text: string): boolean => !text.includes("\uFFFD");

/** Unigram: two ways to cut a text may be equally likely; the same tokens in another order are as good. */
const comparable = (ids: number[], name: string): number[] =>
  name === "unigram" ? ids.toSorted((a, b) => a - b) : ids;

describe("tokenizers of every kind", () => {
  it.each(Object.keys(reference.variants))("%s: ids and texts as Hugging Face tokenizers give them", async (name) => {
    const tokenizer = await variant(name);
    const { ids, decoded, decodedAll } = reference.variants[name]!;
    for (const [index, text] of reference.texts.entries()) {
      const [first, second] = ids[index]!;
      // BOS that the text brings along is not doubled here.
      const expected = name === "byte level" && first === second ? ids[index]!.slice(1) : ids[index]!;
      expect({ text, ids: comparable(tokenizer.encode(text), name) }).toEqual({
        text,
        ids: comparable(expected, name),
      });
      if (!readable(decodedAll[index]!)) continue;
      expect(tokenizer.decode(ids[index]!)).toBe(decoded[index]);
      expect(tokenizer.decode(ids[index]!, { skipSpecialTokens: false })).toBe(decodedAll[index]);
    }
  });

  it.each(Object.keys(reference.variants))(
    "%s: control tokens cannot be spelled when they are not allowed",
    async (name) => {
      const tokenizer = await variant(name);
      for (const text of [...reference.texts, "<s>", "</s></s>", "x<lead>y", "<<s>s>", "<trail>"]) {
        const ids = tokenizer.encode(text, { allowControlTokens: false, addSpecialTokens: false });
        const control = ids.filter((id) => tokenizer.isControl(id) && tokenizer.tokenOf(id) !== "<unk>");
        expect({ text, control }).toEqual({ text, control: [] });
      }
    },
  );

  it.each(Object.keys(reference.variants))("%s: decodes token by token to the same text", async (name) => {
    const tokenizer = await variant(name);
    for (const row of reference.variants[name]!.ids) {
      const decoder = tokenizer.decoder({ skipSpecialTokens: false });
      const chunks = row.map((id) => decoder.push([id]));
      chunks.push(decoder.flush());
      const whole = tokenizer.decode(row, { skipSpecialTokens: false });
      expect(chunks.join("")).toBe(whole);
      if (!readable(whole)) continue;
      for (const chunk of chunks) expect(readable(chunk)).toBe(true);
    }
  });

  it.each(Object.keys(reference.variants))("%s: gives the same ids off the main path for long texts", async (name) => {
    const tokenizer = await variant(name);
    const text = reference.texts.join("\n").repeat(2);
    expect(text.length).toBeGreaterThan(8000);
    expect(await tokenizer.encodeAsync(text)).toEqual(tokenizer.encode(text));
    await tokenizer.dispose();
    await expect(tokenizer.encodeAsync("x")).rejects.toMatchObject({ code: "disposed" });
    await tokenizer.dispose();
  });
});

describe("Tokenizer", () => {
  it("gives the goldens of the tiny models", async () => {
    for (const architecture of ["llama", "qwen2", "gemma2", "phi3"]) {
      const tokenizer = await Tokenizer.fromFolder(fileURLToPath(new URL(`llm/${architecture}-tiny-hf`, FIXTURES)));
      const golden = JSON.parse(readFileSync(new URL(`llm/${architecture}-golden.json`, FIXTURES), "utf8")) as {
        raw: { prompt: string | null; repeat: string | null; input_ids: number[] }[];
      };
      for (const { prompt, repeat, input_ids } of golden.raw) {
        expect(tokenizer.encode((prompt ?? repeat)!)).toEqual(input_ids);
      }
      expect(tokenizer).toMatchObject({ vocabSize: 303, bosId: 301, eosId: 302, stopIds: [302] });
    }
  });

  it("adds BOS and EOS as the configuration says, and never twice", async () => {
    const bos = (await variant("byte level")).idOf("<s>")!;
    const eos = (await variant("byte level")).idOf("</s>")!;
    const named = { bos_token: "<s>", eos_token: { content: "</s>" } };
    const ids = async (config: Record<string, unknown>, text = "a"): Promise<number[]> =>
      (await variant("byte level", config)).encode(text);
    const a = (await ids({}))[1]!;
    expect(await ids({})).toEqual([bos, a, eos]);
    expect(await ids({ ...named, add_bos_token: true, add_eos_token: false })).toEqual([bos, a]);
    expect(await ids({ ...named, add_bos_token: false, add_eos_token: false })).toEqual([a]);
    expect(await ids({ ...named }, "<s>a")).toEqual([bos, a, eos]);
    expect((await variant("byte level")).encode("a", { addSpecialTokens: false })).toEqual([a]);
    const tokenizer = await variant("byte level", named);
    expect(tokenizer).toMatchObject({ bosId: bos, eosId: eos, stopIds: [eos] });
    expect(tokenizer.namedTokens).toEqual({ bos_token: "<s>", eos_token: "</s>" });
  });

  it("keeps NUL and takes lone surrogates as U+FFFD", async () => {
    const tokenizer = await variant("byte level");
    expect(tokenizer.decode(tokenizer.encode("a\u0000b"))).toBe("a\u0000b");
    for (const [text, read] of [
      ["a\uD83D", "a\uFFFD"],
      ["\uDE42b", "\uFFFDb"],
      ["\uDE42\uD83D", "\uFFFD\uFFFD"],
    ] as const) {
      expect(tokenizer.encode(text)).toEqual(tokenizer.encode(read));
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(read);
    }
  });

  it("never changes white space in decoding", async () => {
    const tokenizer = await variant("byte level", { clean_up_tokenization_spaces: true });
    const text = " a .b , c 's  n't\n";
    expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
  });

  it("decodes ids without a token to nothing and refuses what is no id", async () => {
    const tokenizer = await variant("byte level");
    const ids = tokenizer.encode("ab");
    expect(tokenizer.decode([...ids, 1_000_000])).toBe("ab");
    expect(tokenizer.decode([])).toBe("");
    for (const bad of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => tokenizer.decode([ids[0]!, bad])).toThrow(OptionError);
      expect(() => tokenizer.decode([ids[0]!, bad])).toThrow(/ids\[1\]/);
    }
    expect(() => tokenizer.encode(undefined as never)).toThrow(OptionError);
  });

  it("names files that are missing or damaged, and kinds it does not know", async () => {
    const folder = await mkdtemp(join(tmpdir(), "pergola-tokenizer-"));
    try {
      const file = join(folder, "tokenizer.json");
      await expect(Tokenizer.fromFolder(folder)).rejects.toMatchObject({ code: "model", file });
      await writeFile(file, '{"model": {');
      await expect(Tokenizer.fromFolder(folder)).rejects.toThrow(/tokenizer\.json is not valid JSON/);
      await writeFile(file, "[]");
      await expect(Tokenizer.fromFolder(folder)).rejects.toBeInstanceOf(ModelError);
      await writeFile(file, "{}");
      await expect(Tokenizer.fromFolder(folder)).rejects.toThrow(/no "model"/);
    } finally {
      await rm(folder, { recursive: true });
    }
    const { tokenizer } = reference.variants["byte level"]!;
    const changed = (fields: Record<string, unknown>): Promise<Tokenizer> =>
      Tokenizer.fromFiles({ file: "t.json", tokenizer: { ...tokenizer, ...fields } });
    await expect(changed({ model: { type: "WordPiece", vocab: {} } })).rejects.toBeInstanceOf(UnsupportedError);
    await expect(changed({ decoder: { type: "WordPiece" } })).rejects.toMatchObject({ subject: "WordPiece" });
    await expect(changed({ decoder: null })).rejects.toBeInstanceOf(UnsupportedError);
    await expect(changed({ pre_tokenizer: { type: "Nonsense" } })).rejects.toThrow(/t\.json.*Nonsense/);
  });
});
