import { cp, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resolveCache } from "./cache.js";
import { GgufMetadata } from "./gguf/gguf-metadata.js";
import { readModelFacts } from "./model-folder.js";
import type { ModelSource } from "./resolve.js";

const FIXTURE = fileURLToPath(new URL("../../test/fixtures/llm/llama-tiny-ir", import.meta.url));

let root: string;
beforeAll(async () => void (root = await mkdtemp(join(tmpdir(), "pergola-facts-"))));
afterAll(() => rm(root, { recursive: true, force: true }));

const ir = (path: string): ModelSource => ({
  kind: "ir",
  path,
  xml: join(path, "openvino_model.xml"),
  bin: join(path, "openvino_model.bin"),
});

async function withConfig(name: string, config: unknown, generation?: unknown): Promise<ModelSource> {
  const path = join(root, name);
  await cp(FIXTURE, path, { recursive: true });
  const text = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
  await writeFile(join(path, "config.json"), text(config));
  if (generation === undefined) await rm(join(path, "generation_config.json"));
  else await writeFile(join(path, "generation_config.json"), text(generation));
  return ir(path);
}

describe("readModelFacts", () => {
  it("reads the fixture", async () => {
    expect(await readModelFacts(ir(FIXTURE))).toMatchObject({
      architecture: "llama",
      contextLength: 2048,
      eosTokenIds: [302],
      generationConfig: { eos_token_id: 302 },
    });
  });

  it("finds the context length under its other names and in composed models", async () => {
    expect((await readModelFacts(await withConfig("gpt", { n_positions: 1024 }))).contextLength).toBe(1024);
    const composed = { text_config: { max_position_embeddings: 4096, eos_token_id: [1, 2] } };
    expect(await readModelFacts(await withConfig("vlm", composed))).toMatchObject({
      contextLength: 4096,
      eosTokenIds: [1, 2],
    });
    expect((await readModelFacts(await withConfig("none", {}))).contextLength).toBe(0);
  });

  it("joins eos ids, numbers or lists, and takes null for none", async () => {
    const source = await withConfig("eos", { eos_token_id: 7 }, { eos_token_id: [5, 7] });
    expect((await readModelFacts(source)).eosTokenIds).toEqual([5, 7]);
    const none = await withConfig("eos-null", { eos_token_id: null }, { eos_token_id: null });
    expect((await readModelFacts(none)).eosTokenIds).toEqual([]);
  });

  it("names a file that is not valid", async () => {
    const broken = await withConfig("broken", { eos_token_id: 1 }, "{ not json");
    await expect(readModelFacts(broken)).rejects.toMatchObject({
      code: "model",
      file: join(root, "broken", "generation_config.json"),
    });
    const list = await withConfig("list", []);
    await expect(readModelFacts(list)).rejects.toMatchObject({
      code: "model",
      file: join(root, "list", "config.json"),
    });
  });

  it("reads a GGUF header", async () => {
    const file = join(root, "x.gguf");
    await writeFile(file, "GGUF");
    const metadata = new GgufMetadata(file, [
      ["general.architecture", "llama"],
      ["llama.context_length", 8192],
      ["tokenizer.ggml.eos_token_id", 2],
      ["tokenizer.ggml.eot_token_id", 9],
    ]);
    const facts = await readModelFacts({
      kind: "gguf",
      path: file,
      gguf: { version: 3, metadata, tensors: [], files: [file], fileSize: 4 },
    });
    expect(facts).toMatchObject({
      architecture: "llama",
      contextLength: 8192,
      eosTokenIds: [2, 9],
      generationConfig: {},
    });
  });
});

describe("modelKey", () => {
  it("is the same through links, and changes with size or time of the files", async () => {
    const path = join(root, "key");
    await cp(FIXTURE, path, { recursive: true });
    const linked = join(root, "key-linked");
    await symlink(path, linked);
    const before = (await readModelFacts(ir(path))).modelKey;
    expect((await readModelFacts(ir(linked))).modelKey).toBe(before);
    await utimes(join(path, "openvino_model.bin"), new Date(0), new Date(0));
    const touched = (await readModelFacts(ir(path))).modelKey;
    expect(touched).not.toBe(before);
    await writeFile(join(path, "openvino_model.xml"), "<net/>");
    expect((await readModelFacts(ir(path))).modelKey).not.toBe(touched);
  });
});

describe("resolveCache", () => {
  it("makes the folder, follows the override, and can be off", async () => {
    const wanted = join(root, "cache", "deep");
    expect(await resolveCache(wanted)).toEqual({ folder: wanted });
    expect(await resolveCache(true, join(root, "override"))).toEqual({ folder: join(root, "override") });
    expect(await resolveCache(wanted, join(root, "override"))).toEqual({ folder: wanted });
    expect(await resolveCache(false, join(root, "override"))).toEqual({ folder: "" });
  });

  it("does not hang where nothing can be made", async () => {
    const result = await resolveCache("/proc/pergola/cache");
    expect(result.folder).toBe("");
    expect(result.warning).toMatch(/proc.pergola.cache cannot be written/);
  });

  it("goes without, and says why, where the folder cannot be made", async () => {
    await mkdir(root, { recursive: true });
    await writeFile(join(root, "file"), "x");
    const result = await resolveCache(join(root, "file", "cache"));
    expect(result.folder).toBe("");
    expect(result.warning).toMatch(/No compile cache: .*file.cache cannot be written/);
    expect((await resolveCache(join(root, "file"))).warning).toMatch(/file cannot be written \(EEXIST\)/);
  });
});
