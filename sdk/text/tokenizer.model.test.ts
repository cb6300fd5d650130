import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { readGguf, type GgufFile } from "../models/gguf/gguf-file.js";
import { ChatTemplate } from "./chat-template.js";
import { parseMessages } from "./messages.js";
import { templateOfGguf } from "./template-source.js";
import { Tokenizer } from "./tokenizer.js";

const MODEL = fileURLToPath(new URL("../../models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", import.meta.url));

function fixture(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../test/fixtures/${name}`, import.meta.url), "utf8"));
}

let gguf: GgufFile;
let tokenizer: Tokenizer;

beforeAll(async () => {
  gguf = await readGguf(MODEL);
  tokenizer = await Tokenizer.fromGguf(gguf);
});

describe("SmolLM2 as GGUF", () => {
  it("has its metadata and tensors read", () => {
    expect(gguf.metadata.string("general.architecture")).toBe("llama");
    expect(gguf.metadata.number("llama.block_count")).toBe(30);
    expect(gguf.tensors).toHaveLength(272);
    expect(gguf.fileSize).toBe(98_362_432);
    expect(tokenizer).toMatchObject({ vocabSize: 49_152, bosId: 1, eosId: 2 });
    expect(tokenizer.stopIds[0]).toBe(2);
  });

  it("gives the reference's ids and texts in many scripts", () => {
    const { rows } = fixture("text/smollm2-ids.json") as {
      rows: { text: string; ids: number[]; plainIds?: number[]; decoded?: string }[];
    };
    expect(rows.length).toBeGreaterThan(200);
    for (const { text, ids, plainIds = ids, decoded = text } of rows) {
      expect({ text, ids: tokenizer.encode(text) }).toEqual({ text, ids });
      expect({ text, ids: tokenizer.encode(text, { allowControlTokens: false }) }).toEqual({ text, ids: plainIds });
      expect(tokenizer.decode(ids)).toBe(decoded);
    }
  });

  it("renders and encodes chats as transformers does", async () => {
    const template = new ChatTemplate(templateOfGguf(gguf)!, tokenizer);
    const golden = fixture("llm/smollm2-golden.json") as {
      prompt: string;
      rendered: string;
      input_ids: number[];
      greedy: number[];
      text: string;
    }[];
    for (const { prompt, rendered, input_ids, greedy, text } of golden) {
      const { text: own, ids } = await template.encode(parseMessages([{ role: "user", content: prompt }]));
      expect(own).toBe(rendered);
      expect(ids).toEqual(input_ids);
      if (text) expect(tokenizer.decode(greedy)).toBe(text);
    }
  });

  it("streams text of random ids without losing or breaking anything", () => {
    let state = 17;
    const random = (below: number): number => (state = (state * 48271) % 2147483647) % below;
    for (let round = 0; round < 500; round++) {
      const ids = Array.from({ length: 1 + random(40) }, () => random(tokenizer.vocabSize));
      const decoder = tokenizer.decoder();
      const chunks = ids.map((id) => decoder.push([id]));
      chunks.push(decoder.flush());
      expect(chunks.join("")).toBe(tokenizer.decode(ids));
    }
  });
});
