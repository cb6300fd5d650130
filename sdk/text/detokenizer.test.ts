import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { GgufMetadata } from "../models/gguf/gguf-file.js";
import { Tokenizer } from "./tokenizer.js";

const FIXTURES = new URL("../../test/fixtures/text/", import.meta.url);

function fixture(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, FIXTURES), "utf8"));
}

const sentencePiece = (
  fixture("sentencepiece.json") as {
    models: Record<string, { tokens: string[]; scores: number[]; types: number[] }>;
  }
).models["prefix"]!;

const tokenizers: Record<string, Tokenizer> = {};

beforeAll(async () => {
  const { variants } = fixture("tokenizer-json.json") as {
    variants: Record<string, { tokenizer: Record<string, unknown> }>;
  };
  tokenizers["byte level"] = await Tokenizer.fromFiles({ file: "t", tokenizer: variants["byte level"]!.tokenizer });
  const metadata = new GgufMetadata("m.gguf", [
    ["tokenizer.ggml.model", "llama"],
    ["tokenizer.ggml.tokens", sentencePiece.tokens],
    ["tokenizer.ggml.scores", Float32Array.from(sentencePiece.scores)],
    ["tokenizer.ggml.token_type", Int32Array.from(sentencePiece.types)],
  ]);
  tokenizers["byte fallback"] = await Tokenizer.fromGguf({
    version: 3,
    metadata,
    tensors: [],
    files: ["m.gguf"],
    fileSize: 0,
  });
});

function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => (state = (state * 48271) % 2147483647) % below;
}

function chunksOf(tokenizer: Tokenizer, ids: number[], sizes: () => number, continuation: boolean): string[] {
  const decoder = tokenizer.decoder({ continuation });
  const chunks: string[] = [];
  for (let at = 0; at < ids.length;) {
    const size = sizes();
    chunks.push(decoder.push(ids.slice(at, at + size)));
    at += size;
  }
  chunks.push(decoder.flush());
  return chunks;
}

describe("TokenDecoder", () => {
  it.each(["byte level", "byte fallback"])("%s: joined chunks are the whole text, for any ids and any cuts", (name) => {
    const tokenizer = tokenizers[name]!;
    const random = generator(11);
    for (let round = 0; round < 1500; round++) {
      const ids = Array.from({ length: random(30) }, () => random(tokenizer.vocabSize));
      const continuation = random(2) === 0;
      const whole = tokenizer.decode(ids, { continuation });
      const chunks = chunksOf(tokenizer, ids, () => 1 + random(3), continuation);
      expect(chunks.join("")).toBe(whole);
      // What is U+FFFD in a chunk is so in the whole; nothing is taken back later.
      const broken = (text: string): number => text.split("\uFFFD").length;
      expect(chunks.reduce((sum, chunk) => sum + broken(chunk) - 1, 0)).toBe(broken(whole) - 1);
      for (const chunk of chunks) expect(chunk).not.toMatch(/\p{Surrogate}/u);
    }
  });

  it.each(["byte level", "byte fallback"])("%s: reads bytes as the platform's UTF-8 decoder does", (name) => {
    const tokenizer = tokenizers[name]!;
    const byteIds = Array.from({ length: 256 }, (_, byte) =>
      name === "byte fallback"
        ? tokenizer.idOf(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`)!
        : idOfByte(tokenizer, byte),
    );
    const interesting = [
      0x00, 0x41, 0x7f, 0x80, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xdf, 0xe0, 0xe2, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff, 0xbb,
      0x8f, 0x90,
    ];
    const random = generator(3);
    for (let round = 0; round < 4000; round++) {
      const bytes = Array.from({ length: 1 + random(7) }, () => interesting[random(interesting.length)]!);
      const expected = new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
      const chunks = chunksOf(
        tokenizer,
        bytes.map((byte) => byteIds[byte]!),
        () => 1,
        true,
      );
      expect(chunks.join("")).toBe(expected);
    }
  });

  it("keeps the first space exactly as the whole decode does", () => {
    const tokenizer = tokenizers["byte fallback"]!;
    const ids = tokenizer.encode("  two spaces", { addSpecialTokens: false });
    expect(chunksOf(tokenizer, ids, () => 1, false).join("")).toBe("  two spaces");
    expect(chunksOf(tokenizer, ids, () => 1, true).join("")).toBe("   two spaces");
    const byteLevel = tokenizers["byte level"]!;
    const indented = byteLevel.encode("\n    x", { addSpecialTokens: false });
    expect(chunksOf(byteLevel, indented, () => 1, false).join("")).toBe("\n    x");
  });

  it("delivers a character with its last byte and nothing before", () => {
    const tokenizer = tokenizers["byte fallback"]!;
    const rocket = ["<0xF0>", "<0x9F>", "<0x9A>", "<0x80>"].map((token) => tokenizer.idOf(token)!);
    const decoder = tokenizer.decoder();
    expect(rocket.map((id) => decoder.push([id]))).toEqual(["", "", "", "🚀"]);
    expect(decoder.push(rocket.slice(0, 3))).toBe("");
    expect(decoder.unfinished).toBe(true);
    expect(decoder.flush()).toBe("\uFFFD");
    expect(decoder.unfinished).toBe(false);
  });
});

/** The token of one byte in GPT-2's alphabet. */
function idOfByte(tokenizer: Tokenizer, byte: number): number {
  const printable = (code: number): boolean =>
    (code >= 0x21 && code <= 0x7e) || (code >= 0xa1 && code <= 0xac) || code >= 0xae;
  let code = 0x100;
  for (let other = 0; other < byte; other++) if (!printable(other)) code++;
  return tokenizer.idOf(String.fromCharCode(printable(byte) ? byte : code))!;
}
