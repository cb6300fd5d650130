import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { inspectModel } from "./inspect-model.js";

const fixture = (path: string): string => fileURLToPath(new URL(`../../test/fixtures/${path}`, import.meta.url));
const QWEN2 = fixture("llm/qwen2-tiny-ir");

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "pergola-inspect-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("tells what the files of a folder say", async () => {
  expect(await inspectModel(QWEN2)).toEqual({
    format: "ir",
    pipelines: ["LLMPipeline"],
    files: [`${QWEN2}/openvino_model.xml`, `${QWEN2}/openvino_model.bin`],
    weightBytes: statSync(`${QWEN2}/openvino_model.bin`).size,
    architecture: "qwen2",
    contextLength: 2048,
  });
});

describe("other kinds of models", () => {
  it.each([
    ["janus/tiny-ir", "ir", ["VLMPipeline", "ImagePipeline"], "janus", 16_384, 14],
    ["janus/tiny", "safetensors", ["VLMPipeline", "ImagePipeline"], "janus", 16_384, 1],
    ["vlm/llava_shapes-tiny-ir", "ir", ["VLMPipeline"], "llava", undefined, 6],
    ["whisper/tiny-ir", "ir", ["WhisperPipeline"], "whisper", 448, 4],
    ["whisper/tiny-hf", "safetensors", ["WhisperPipeline"], "whisper", 448, 1],
    ["whisper/ct2-tiny", "ctranslate2", ["WhisperPipeline"], "whisper", undefined, 1],
    ["llm/llama-tiny-hf", "safetensors", ["LLMPipeline"], "llama", undefined, 1],
    ["llm/llama-tiny-hf/model.safetensors", "safetensors", ["LLMPipeline"], "llama", undefined, 1],
  ])("%s", async (path, format, pipelines, architecture, contextLength, files) => {
    const found = await inspectModel(fixture(path));
    expect(found).toMatchObject({ format, pipelines, architecture });
    if (contextLength !== undefined) expect(found.contextLength).toBe(contextLength);
    expect(found.files).toHaveLength(files);
    const sizes = found.files.filter((file) => !file.endsWith(".xml")).map((file) => statSync(file).size);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    // Checkpoints have headers beside their weights.
    expect(found.weightBytes).toBeLessThanOrEqual(total);
    expect(found.weightBytes).toBeGreaterThan(total * 0.8);
  });

  it("a family that VLMPipeline does not know is for no pipeline", async () => {
    const copy = join(folder, "other");
    cpSync(fixture("vlm/llava_shapes-tiny-ir"), copy, { recursive: true });
    writeFileSync(join(copy, "config.json"), JSON.stringify({ model_type: "seen_never" }));
    expect(await inspectModel(copy)).toMatchObject({ architecture: "seen_never", pipelines: [] });
  });

  it("a Janus folder without the parts for pictures still describes them", async () => {
    const copy = join(folder, "janus");
    cpSync(fixture("janus/tiny-ir"), copy, { recursive: true });
    for (const ending of ["xml", "bin"]) rmSync(join(copy, `openvino_gen_head_model.${ending}`));
    expect((await inspectModel(copy)).pipelines).toEqual(["VLMPipeline"]);
  });
});

describe("trouble", () => {
  it("refuses what cannot be loaded", async () => {
    await expect(inspectModel("/none")).rejects.toMatchObject({ code: "model" });
    await expect(inspectModel(folder)).rejects.toMatchObject({ code: "model" });
  });

  it("names a graph whose weights are missing or empty", async () => {
    const copy = join(folder, "janus");
    cpSync(fixture("janus/tiny-ir"), copy, { recursive: true });
    truncateSync(join(copy, "openvino_gen_decoder_model.bin"), 0);
    await expect(inspectModel(copy)).rejects.toThrow(/openvino_gen_decoder_model\.bin/);
    rmSync(join(copy, "openvino_language_model.bin"));
    await expect(inspectModel(copy)).rejects.toThrow(/openvino_language_model\.bin/);
  });

  it("names a checkpoint that is cut short", async () => {
    const copy = join(folder, "janus");
    cpSync(fixture("janus/tiny"), copy, { recursive: true });
    const bytes = readFileSync(join(copy, "model.safetensors"));
    writeFileSync(join(copy, "model.safetensors"), bytes.subarray(0, bytes.length - 100));
    await expect(inspectModel(copy)).rejects.toThrow(/model\.safetensors/);
  });
});
