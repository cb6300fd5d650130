import { mkdir, readFile, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { ModelError, OptionError, UnsupportedError } from "../core/errors.js";
import { janusFixture } from "../testing/janus-fixture.js";
import { failureOf, useTemporaryModels } from "../testing/temporary-models.js";
import { janusFacts } from "./janus-facts.js";
import { resolveVisionModel, type ResolveVisionOptions, type VisionModelSource } from "./vision-model.js";

type Json = Record<string, unknown>;

const [IR, CHECKPOINT] = [janusFixture("tiny-ir"), janusFixture("tiny")];

/** What the OpenVINO notebook makes. */
const NOTEBOOK = [
  ...["openvino_gen_decoder_model", "openvino_gen_embeddings_model", "openvino_gen_head_model"],
  ...["openvino_language_model", "openvino_lm_head_model"],
  ...["openvino_text_embeddings_model", "openvino_vision_embeddings_model"],
];

const models = useTemporaryModels("vision");
const { copyOf, conversions } = models;

const load = (model: unknown, more: Partial<ResolveVisionOptions> = {}): Promise<VisionModelSource> =>
  resolveVisionModel(model, { cacheFolder: models.cacheFolder, ...more });

const failure = (model: unknown, more: Partial<ResolveVisionOptions> = {}): Promise<Error> =>
  failureOf(load(model, more));

/** A folder with a `config.json` and empty-looking files. */
async function folderWith(config: Json | undefined, ...names: string[]): Promise<string> {
  const path = join(models.root, "other");
  await mkdir(path);
  if (config) await writeFile(join(path, "config.json"), JSON.stringify(config));
  for (const name of names) await writeFile(join(path, name), "something");
  return path;
}

async function changeConfig(folder: string, change: (config: Record<string, Json>) => void): Promise<void> {
  const file = join(folder, "config.json");
  const config = JSON.parse(await readFile(file, "utf8")) as Record<string, Json>;
  change(config);
  await writeFile(file, JSON.stringify(config));
}

describe("OpenVINO IR", () => {
  it("from the notebook is used as it is", async () => {
    const source = await load(IR, { needs: NOTEBOOK });
    expect(source).toMatchObject({ path: IR, folder: IR, format: "openvino", family: "janus", contextLength: 16_384 });
    expect(source.config["model_type"]).toBe("multi_modality");
    expect(source.processorConfig["num_image_tokens"]).toBe(16);
    expect(source.preprocessorConfig["image_size"]).toBe(32);
    expect(source.generationConfig).toEqual({});
    expect(source.graph("openvino_language_model")).toMatchObject({
      xml: join(IR, "openvino_language_model.xml"),
      bin: join(IR, "openvino_language_model.bin"),
    });
    expect(await conversions()).toEqual([]);
  });

  it("may be named by a URL or by a file in it", async () => {
    expect((await load(pathToFileURL(IR))).folder).toBe(IR);
    expect((await load(join(IR, "openvino_language_model.xml"))).folder).toBe(IR);
  });

  it("has no encoder of pictures, which a caller may ask", async () => {
    const source = await load(IR);
    expect(source.has("openvino_gen_decoder_model")).toBe(true);
    expect(source.has("openvino_gen_encoder_model")).toBe(false);
    expect(() => source.graph("openvino_gen_encoder_model")).toThrow(ModelError);
    expect(() => source.graph("openvino_gen_encoder_model")).toThrow(/openvino_gen_encoder_model\.xml \(missing\)/);
  });

  it("of any family", async () => {
    const path = await copyOf(IR);
    await changeConfig(path, (config) => Object.assign(config, { model_type: "llava", eos_token_id: [2, 7] }));
    expect(await load(path)).toMatchObject({ family: "llava", eosTokenIds: [2, 7] });
  });

  it("has keys that change with the files", async () => {
    const path = await copyOf(IR);
    const key = async (name: string): Promise<string> => (await load(path)).graph(name).modelKey;
    const [head, decoder] = [await key("openvino_lm_head_model"), await key("openvino_gen_decoder_model")];
    await writeFile(join(path, "openvino_lm_head_model.xml"), "<other/>");
    expect(await key("openvino_lm_head_model")).not.toBe(head);
    expect(await key("openvino_gen_decoder_model")).toBe(decoder);
  });

  it("names everything that is missing in one message", async () => {
    const path = await copyOf(IR);
    await rm(join(path, "openvino_gen_head_model.bin"));
    await rm(join(path, "openvino_lm_head_model.xml"));
    await rm(join(path, "tokenizer.json"));
    const error = await failure(path, { needs: NOTEBOOK });
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toMatch(
      /gen_head_model\.bin \(missing\).*lm_head_model\.xml \(missing\).*tokenizer\.json \(missing\)/,
    );
  });

  it.each(NOTEBOOK)("without %s names it, if it is needed", async (name) => {
    const path = await copyOf(IR);
    await rm(join(path, `${name}.xml`));
    expect((await load(path)).has(name)).toBe(false);
    const error = await failure(path, { needs: [name] });
    expect(error).toMatchObject({ code: "model", file: join(path, `${name}.xml`) });
  });

  it("cannot be given other weights", async () => {
    const error = await failure(IR, { weights: "int8" });
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ path: "weights", received: "int8" });
    expect(await load(IR, { weights: "file" })).toMatchObject({ format: "openvino" });
    expect(await failure(IR, { groupSize: 32 })).toMatchObject({ path: "groupSize" });
  });

  it("needs a config.json that tells the family", async () => {
    const path = await copyOf(IR);
    await writeFile(join(path, "config.json"), "{}");
    expect((await failure(path)).message).toMatch(/config\.json does not tell the kind of model/);
  });
});

describe("Janus checkpoints", () => {
  it("are converted into the notebook's files, once", async () => {
    const fractions: number[] = [];
    const source = await load(CHECKPOINT, { needs: NOTEBOOK, onProgress: (fraction) => fractions.push(fraction) });
    expect(source).toMatchObject({ path: CHECKPOINT, format: "safetensors", family: "janus", contextLength: 16_384 });
    expect(source.eosTokenIds).toEqual([285]);
    expect([...NOTEBOOK, "openvino_gen_encoder_model"].filter((name) => !source.has(name))).toEqual([]);
    expect(fractions.at(-1)).toBe(1);
    expect(fractions).toEqual([...fractions].sort((one, other) => one - other));
    const made = (await stat(source.graph("openvino_language_model").xml)).mtimeMs;
    const again = await load(CHECKPOINT);
    expect(again.folder).toBe(source.folder);
    expect((await stat(again.graph("openvino_language_model").xml)).mtimeMs).toBe(made);
    expect(await conversions()).toHaveLength(1);
  });

  it("keep their configuration, tokenizer and template", async () => {
    const { folder, ...source } = await load(CHECKPOINT);
    for (const name of ["config.json", "processor_config.json", "chat_template.jinja", "tokenizer.json"]) {
      expect(await readFile(join(folder, name), "utf8"), name).toBe(await readFile(join(CHECKPOINT, name), "utf8"));
    }
    expect(janusFacts({ folder, ...source })).toMatchObject({ imageTokens: 16, useDefaultSystemPrompt: true });
  });

  it("are converted anew for other weights", async () => {
    const sizes: number[] = [];
    for (const weights of ["f16", "int8"] as const) {
      const { bin } = (await load(CHECKPOINT, { weights })).graph("openvino_language_model");
      sizes.push((await stat(bin)).size);
    }
    expect(sizes[1]).toBeLessThan(0.7 * sizes[0]!);
    expect(await conversions()).toHaveLength(2);
  });

  it("without lm_head.weight use the embedding, whatever the configuration says about tying", async () => {
    const path = await copyOf(CHECKPOINT);
    const file = join(path, "model.safetensors");
    /** The matrix alone: 304 rows of 48 values in f16. */
    const matrixOf = async (name: string): Promise<Buffer> =>
      (await readFile((await load(path)).graph(name).bin)).subarray(0, 304 * 48 * 2);
    const headOf = (): Promise<Buffer> => matrixOf("openvino_lm_head_model");
    const embedding = await matrixOf("openvino_text_embeddings_model");
    await changeConfig(path, (config) => Object.assign(config, { tie_word_embeddings: true }));
    expect((await headOf()).equals(embedding)).toBe(false);
    // Under another name it is not the last layer any more.
    const bytes = await readFile(file);
    bytes.write("lm_tail.weight", bytes.indexOf("lm_head.weight"), "latin1");
    await writeFile(file, bytes);
    expect((await headOf()).equals(embedding)).toBe(true);
  });

  it("may be sharded", async () => {
    const path = await copyOf(CHECKPOINT);
    const bytes = await readFile(join(path, "model.safetensors"));
    const length = Number(bytes.readBigUInt64LE(0));
    const names = Object.keys(JSON.parse(bytes.toString("utf8", 8, 8 + length)) as Json).filter(
      (name) => name !== "__metadata__",
    );
    const shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"] as const;
    for (const shard of shards) await writeFile(join(path, shard), bytes);
    await rm(join(path, "model.safetensors"));
    const weightMap = Object.fromEntries(names.map((name, index) => [name, shards[index % 2]!]));
    await writeFile(join(path, "model.safetensors.index.json"), JSON.stringify({ weight_map: weightMap }));
    const source = await load(path);
    const whole = await load(CHECKPOINT);
    const bin = (from: VisionModelSource): Promise<Buffer> =>
      readFile(from.graph("openvino_vision_embeddings_model").bin);
    expect((await bin(source)).equals(await bin(whole))).toBe(true);
    await rm(join(path, shards[1]));
    const error = await failure(path);
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toContain(`${shards[1]} (missing)`);
  });

  it.each(["config.json", "tokenizer.json"])("without %s", async (name) => {
    const path = await copyOf(CHECKPOINT);
    await rm(join(path, name));
    const error = await failure(path);
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toContain(name);
    expect(await conversions()).toEqual([]);
  });

  it("cut short name the file and leave nothing behind", async () => {
    const path = await copyOf(CHECKPOINT);
    const file = join(path, "model.safetensors");
    await truncate(file, (await stat(file)).size - 1000);
    expect(await failure(path)).toMatchObject({ code: "model", file });
    expect(await conversions()).toEqual([]);
  });

  it.each([
    ["text_config", "hidden_size", 64, /shape|hidden_size/],
    ["text_config", "num_hidden_layers", 3, /no tensor "model\.language_model\.layers\.2\./],
    ["vision_config", "num_hidden_layers", 3, /no tensor "model\.vision_model\.encoder\.layers\.2\./],
    ["vision_config", "hidden_size", 30, /\[32, 3, 8, 8\].*\[30, 3, 8, 8\]/],
    ["vision_config", "depth", 3, /no tensor "model\.aligner\.hidden_layers\.1\.weight"/],
    ["vision_config", "hidden_act", "gelu_pytorch_tanh", /hidden_act/],
    ["vision_config", "use_qk_norm", true, /use_qk_norm/],
    ["vision_config", "projection_dim", 47, /projection_dim is 47.*hidden_size is 48/],
    ["vision_config", "image_size", 33, /image_size 33 is not a multiple/],
    ["vision_config", "patch_size", 16, /pictures of 16 pixels a side.*is 32/],
    ["vision_config", "mlp_ratio", "4", /mlp_ratio/],
    ["vq_config", "num_embeddings", 255, /shape.*\[255, /],
    ["vq_config", "embed_dim", 7, /shape/],
    ["vq_config", "num_res_blocks", 2, /no tensor "model\.vqmodel\./],
    ["vq_config", "channel_multiplier", "1", /channel_multiplier/],
    ["vq_config", "channel_multiplier", [1, 2, 2, 1], /shape/],
    ["vq_config", "double_latent", true, /double_latent/],
  ] as const)("with %s.%s %j", async (part, name, value, message) => {
    const path = await copyOf(CHECKPOINT);
    await changeConfig(path, (config) => void (config[part]![name] = value));
    const error = await failure(path);
    expect(error.message).toMatch(message);
    expect(["model", "unsupported"]).toContain((error as ModelError).code);
    expect(await conversions()).toEqual([]);
  });

  it("can be aborted, and converted afterwards", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const onProgress = (): void => controller.abort(reason);
    expect(await failure(CHECKPOINT, { signal: controller.signal, onProgress })).toBe(reason);
    expect(await conversions()).toEqual([]);
    expect((await load(CHECKPOINT)).has("openvino_language_model")).toBe(true);
  });

  it("converted before and spoiled since are converted again", async () => {
    const first = await load(CHECKPOINT);
    await rm(first.graph("openvino_gen_decoder_model").bin);
    expect((await load(CHECKPOINT)).has("openvino_gen_decoder_model")).toBe(true);
  });
});

describe("what is no vision model", () => {
  const original = { model_type: "multi_modality" };
  it.each([
    [
      original,
      ["pytorch_model-00001-of-00002.bin"],
      UnsupportedError,
      /PyTorch weights.*deepseek-community\/Janus-Pro/,
    ],
    [original, ["pytorch_model.bin.index.json", "pytorch_model.bin"], UnsupportedError, /deepseek-community/],
    [original, ["decoder.onnx"], UnsupportedError, /ONNX.*deepseek-community/],
    [original, [], ModelError, /model\.safetensors/],
    [{ model_type: "qwen2_vl", vision_config: {} }, ["model.safetensors"], UnsupportedError, /"qwen2_vl".*optimum/],
    [{ model_type: "llama" }, ["model.safetensors"], ModelError, /kind "llama"/],
    [{ model_type: "llama" }, ["openvino_model.xml"], ModelError, /a language model without vision/],
    [{ model_type: "whisper" }, ["openvino_encoder_model.xml"], ModelError, /Whisper/],
    [undefined, ["model.safetensors"], ModelError, /no config\.json/],
    [undefined, ["a.gguf"], ModelError, /a GGUF model \(a\.gguf\)/],
    [undefined, ["readme.md"], ModelError, /It holds: readme\.md/],
    [undefined, [], ModelError, /It is empty/],
  ] as const)("%j %j", async (config, names, kind, message) => {
    const error = await failure(await folderWith(config, ...names));
    expect(error).toBeInstanceOf(kind);
    expect(error.message).toMatch(message);
  });

  it.each([42, "", null, "a\0b"])("%j is no path", async (model) => {
    expect(await failure(model)).toBeInstanceOf(OptionError);
  });

  it("a path that does not exist", async () => {
    expect(await failure(join(models.root, "nothing"))).toBeInstanceOf(ModelError);
    expect(await failure("deepseek-community/Janus-Pro-1B")).toBeInstanceOf(UnsupportedError);
  });

  it("an aborted call", async () => {
    const reason = new Error("no");
    expect(await failure(IR, { signal: AbortSignal.abort(reason) })).toBe(reason);
  });
});

describe("awkward paths", () => {
  it("names with spaces and other scripts", async () => {
    const path = join(models.root, "mödel 模型 (x) #%20");
    await rename(await copyOf(CHECKPOINT), path);
    expect((await load(path)).has("openvino_language_model")).toBe(true);
  });
});
