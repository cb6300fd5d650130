import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ModelError } from "../core/errors.js";
import { GgufMetadata, type GgufFile } from "../models/gguf/gguf-file.js";
import { templateOfFolder, templateOfGguf } from "./template-source.js";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pergola-template-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

const write = (name: string, content: unknown): Promise<void> =>
  writeFile(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));

async function templates(): Promise<Record<string, string> | undefined> {
  const source = await templateOfFolder(folder);
  return source && Object.fromEntries(source.templates);
}

describe("templateOfFolder", () => {
  it("prefers chat_template.jinja to tokenizer_config.json to chat_template.json", async () => {
    expect(await templates()).toBeUndefined();
    await write("chat_template.json", { chat_template: "third" });
    expect(await templates()).toEqual({ default: "third" });
    await write("tokenizer_config.json", { bos_token: "<s>" });
    expect(await templates()).toEqual({ default: "third" });
    await write("tokenizer_config.json", { chat_template: "second" });
    expect(await templates()).toEqual({ default: "second" });
    await write("chat_template.jinja", "first");
    expect(await templates()).toEqual({ default: "first" });
    expect((await templateOfFolder(folder))!.file).toBe(join(folder, "chat_template.jinja"));
  });

  it("reads a list of named templates", async () => {
    const list = [
      { name: "default", template: "a" },
      { name: "tool_use", template: "b" },
    ];
    await write("tokenizer_config.json", { chat_template: list });
    expect(await templates()).toEqual({ default: "a", tool_use: "b" });
  });

  it("names a file that is damaged", async () => {
    await write("tokenizer_config.json", "{");
    await expect(templateOfFolder(folder)).rejects.toBeInstanceOf(ModelError);
    await expect(templateOfFolder(folder)).rejects.toThrow(/tokenizer_config\.json is not valid JSON/);
  });
});

describe("templateOfGguf", () => {
  const gguf = (entries: [string, string | number][]): GgufFile => ({
    version: 3,
    metadata: new GgufMetadata("m.gguf", entries),
    tensors: [],
    files: ["m.gguf"],
    fileSize: 0,
  });

  it("reads the default and named templates", () => {
    expect(templateOfGguf(gguf([["general.alignment", 32]]))).toBeUndefined();
    const source = templateOfGguf(
      gguf([
        ["tokenizer.chat_template", "a"],
        ["tokenizer.chat_template.tool_use", "b"],
      ]),
    )!;
    expect(Object.fromEntries(source.templates)).toEqual({ default: "a", tool_use: "b" });
    expect(source.file).toBe("m.gguf");
  });
});
