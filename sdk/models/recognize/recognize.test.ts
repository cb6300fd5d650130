import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ARCHITECTURES } from "../convert/models/architectures.js";
import { CHECKPOINTS } from "./kinds.js";
import { recognize, sightingFor } from "./recognize.js";

let root: string;
beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), "pergola-recognize-"))));
afterEach(() => rm(root, { recursive: true, force: true }));

/** A folder with files; a name that ends in `/` is a folder in it. */
async function folderWith(files: Record<string, string>): Promise<string> {
  for (const [name, content] of Object.entries(files)) {
    if (name.endsWith("/")) await mkdir(join(root, name));
    else await writeFile(join(root, name), content);
  }
  return root;
}

const WANTED = "a model";
const config = (type: string): string => JSON.stringify({ model_type: type });

describe("what a folder holds", () => {
  it.each<[Record<string, string>, string, string[]]>([
    [{ "openvino_language_model.bin": "x" }, "ir", ["VLMPipeline", "ImagePipeline"]],
    [{ "openvino_gen_head_model.xml": "x" }, "ir", ["VLMPipeline", "ImagePipeline"]],
    [{ "openvino_decoder_model.xml": "x" }, "ir", ["WhisperPipeline"]],
    [{ "openvino_model.xml": "x", "openvino_tokenizer.xml": "x" }, "ir", ["LLMPipeline"]],
    [{ "openvino_unet_model.xml": "x" }, "ir", []],
    [{ "m.GGUF": "x", "mmproj-m.gguf": "x" }, "gguf", ["LLMPipeline"]],
    [{ "model_index.json": "{}" }, "none", []],
    [{ "model.bin": "x", "config.json": "{}" }, "ctranslate2", ["WhisperPipeline"]],
    [{ "model.safetensors": "x", "config.json": config("qwen3") }, "safetensors", ["LLMPipeline"]],
    [{ "model.safetensors.index.json": "x", "config.json": config("whisper") }, "safetensors", ["WhisperPipeline"]],
    [{ "a.safetensors": "x", "config.json": config("janus") }, "safetensors", ["VLMPipeline", "ImagePipeline"]],
  ])("%j", async (files, format, loadedBy) => {
    const { sightings } = await recognize(await folderWith(files), WANTED);
    expect(sightings[0]).toMatchObject({ format, loadedBy });
  });

  it("may be several models: what needs no conversion comes first, and each pipeline finds its own", async () => {
    const recognized = await recognize(
      await folderWith({ "openvino_model.xml": "x", "openvino_language_model.xml": "x", "m.gguf": "x" }),
      WANTED,
    );
    expect(recognized.sightings.map(({ shownBy }) => shownBy)).toEqual([
      ...["openvino_language_model.xml", "openvino_model.xml", "m.gguf"],
    ]);
    expect(sightingFor(["LLMPipeline"], recognized, WANTED).shownBy).toBe("openvino_model.xml");
    expect(sightingFor(["VLMPipeline"], recognized, WANTED).shownBy).toBe("openvino_language_model.xml");
    expect(() => sightingFor(["WhisperPipeline"], recognized, "a Whisper model")).toThrow(
      /not a Whisper model.*VLMPip/,
    );
  });
});

describe("what nothing loads is named, with a remedy", () => {
  it.each<[Record<string, string>, string, RegExp]>([
    [
      { "pytorch_model.bin": "x", "config.json": config("llama") },
      "PyTorch weights",
      /pytorch_model\.bin.*safetensors/,
    ],
    [{ "onnx/": "", "config.json": config("mamba") }, "ONNX weights", /onnx holds ONNX graphs.*safetensors/],
    [{ "ggml-base.bin": "lmgg" }, "ggml model", /whisper\.cpp/],
    [{ "adapter_config.json": "{}", "adapter_model.safetensors": "x" }, "LoRA adapter", /merge_and_unload/],
    [{ "model.bin": "x", "shared_vocabulary.json": "[]" }, "CTranslate2 model", /only Whisper/],
    [{ "model.safetensors": "x", "config.json": config("mamba") }, "conversion of mamba", /"mamba".*qwen3.*optimum/],
    [{ "model.safetensors": "x", "config.json": "{}" }, "checkpoint conversion", /no model_type/],
  ])("%j", async (files, subject, message) => {
    const error = await recognize(await folderWith(files), WANTED).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "unsupported", subject });
    expect((error as Error).message).toMatch(message);
  });

  it.each<[Record<string, string>, RegExp]>([
    [{ "model.safetensors": "x" }, /no config\.json that tells what it is/],
    [{ "config.json": config("qwen2") }, /has no weights \(model\.safetensors\)/],
    [{ "notes.txt": "x" }, /holds no model; needed is a model\. It holds: notes\.txt/],
  ])("%j is not complete", async (files, message) => {
    await expect(recognize(await folderWith(files), WANTED)).rejects.toThrow(message);
  });
});

describe("a file", () => {
  it("stands for its folder where it is a part", async () => {
    await folderWith({ "openvino_model.xml": "x", "config.json": "{}" });
    const { path, folder, sightings } = await recognize(join(root, "config.json"), WANTED);
    expect([path, folder]).toEqual([join(root, "config.json"), root]);
    expect(sightings[0]).toMatchObject({ format: "ir", shownBy: "openvino_model.xml" });
  });

  it("is known by its content whatever its name", async () => {
    await folderWith({ blob: "GGUF…", "ggml.bin": "lmgg", other: "text", "m.onnx": "x" });
    expect((await recognize(join(root, "blob"), WANTED)).sightings[0]).toMatchObject({ format: "gguf" });
    await expect(recognize(join(root, "ggml.bin"), WANTED)).rejects.toThrow(/whisper\.cpp/);
    await expect(recognize(join(root, "m.onnx"), WANTED)).rejects.toThrow(/ONNX/);
    await expect(recognize(join(root, "other"), WANTED)).rejects.toThrow(/no model this SDK can load/);
  });

  it("that was not fetched by Git LFS is told", async () => {
    await folderWith({ "m.gguf": "version https://git-lfs.github.com/spec/v1\noid x" });
    await expect(recognize(join(root, "m.gguf"), WANTED)).rejects.toThrow(/Git LFS pointer/);
  });
});

it("every checkpoint that can be converted has a pipeline", () => {
  expect(Object.keys(CHECKPOINTS).sort()).toEqual(ARCHITECTURES.map(({ name }) => name).sort());
});
