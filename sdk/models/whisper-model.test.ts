import { cp, mkdir, readdir, readFile, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { ModelError, OptionError, UnsupportedError } from "../core/errors.js";
import { failureOf, useTemporaryModels } from "../testing/temporary-models.js";
import { resolveWhisperModel, type ResolveWhisperOptions, type WhisperModelSource } from "./whisper-model.js";

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../test/fixtures/whisper/${name}`, import.meta.url));
const [IR, HF, CT2] = [fixture("tiny-ir"), fixture("tiny-hf"), fixture("ct2-tiny")];

const models = useTemporaryModels("whisper");
const { copyOf, conversions } = models;

const load = (model: unknown, more: Partial<ResolveWhisperOptions> = {}): Promise<WhisperModelSource> =>
  resolveWhisperModel(model, { cacheFolder: models.cacheFolder, ...more });

const failure = (model: unknown, more: Partial<ResolveWhisperOptions> = {}): Promise<Error> =>
  failureOf(load(model, more));

describe("OpenVINO IR", () => {
  it("is used as it is", async () => {
    const source = await load(IR);
    expect(source).toMatchObject({ path: IR, folder: IR, format: "openvino" });
    expect(source.encoder).toEqual({
      xml: join(IR, "openvino_encoder_model.xml"),
      bin: join(IR, "openvino_encoder_model.bin"),
    });
    expect(source.config["d_model"]).toBe(16);
    expect(source.generationConfig["no_timestamps_token_id"]).toBe(266);
    expect(source.preprocessorConfig["feature_size"]).toBe(80);
    expect(await conversions()).toEqual([]);
  });

  it("may be named by a URL or by a file in it", async () => {
    expect((await load(pathToFileURL(IR))).folder).toBe(IR);
    expect((await load(join(IR, "openvino_encoder_model.xml"))).folder).toBe(IR);
  });

  it("without preprocessor_config.json gets the one that all Whisper models have", async () => {
    const path = await copyOf(IR);
    await rm(join(path, "preprocessor_config.json"));
    expect((await load(path)).preprocessorConfig).toMatchObject({ feature_size: 80, sampling_rate: 16_000 });
  });

  it("with files missing or empty names all of them in one message", async () => {
    const path = await copyOf(IR);
    await rm(join(path, "openvino_decoder_model.bin"));
    await rm(join(path, "tokenizer.json"));
    await truncate(join(path, "config.json"), 0);
    const error = await failure(path);
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toMatch(
      /decoder_model\.bin \(missing\).*config\.json \(empty\).*tokenizer\.json \(missing\)/,
    );
  });

  it("without state is not supported, with a remedy", async () => {
    const path = await copyOf(IR);
    const file = join(path, "openvino_decoder_model.xml");
    await writeFile(file, (await readFile(file, "utf8")).replaceAll('type="ReadValue"', 'type="Parameter"'));
    const error = await failure(path);
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error.message).toMatch(/Export it again/);
  });

  it("cannot be given in other weights", async () => {
    const error = await failure(IR, { weights: "int8" });
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ path: "weights", received: "int8" });
    expect(await load(IR, { weights: "file" })).toMatchObject({ format: "openvino" });
  });

  it("has another key when a file changes", async () => {
    const path = await copyOf(IR);
    const before = (await load(path)).modelKey;
    expect((await load(path)).modelKey).toBe(before);
    await utimes(join(path, "openvino_decoder_model.bin"), 1, 1);
    expect((await load(path)).modelKey).not.toBe(before);
  });
});

describe.each([
  ["safetensors", HF],
  ["ctranslate2", CT2],
] as const)("a checkpoint (%s)", (format, fixturePath) => {
  it("is converted once, and reported", async () => {
    const fractions: number[] = [];
    const source = await load(fixturePath, { onProgress: (fraction) => fractions.push(fraction) });
    expect(source).toMatchObject({ path: fixturePath, format });
    expect(source.folder.startsWith(join(models.cacheFolder, "converted"))).toBe(true);
    expect(source.config).toMatchObject({ model_type: "whisper", d_model: 16, vocab_size: 1768 });
    expect(source.generationConfig).toMatchObject({
      no_timestamps_token_id: 266,
      suppress_tokens: [1, 2, 7, 257, 261, 262, 263, 264, 265],
    });
    expect(fractions.length).toBeGreaterThan(2);
    expect([...fractions].sort((one, other) => one - other)).toEqual(fractions);
    expect(fractions.at(-1)).toBe(1);
    const made = (await stat(source.decoder.bin)).mtimeMs;
    const again = await load(fixturePath);
    expect(again).toEqual(source);
    expect((await stat(again.decoder.bin)).mtimeMs).toBe(made);
  });

  it("is complete for the tokenizer and for other programs", async () => {
    const { folder } = await load(fixturePath);
    expect((await readdir(folder)).sort()).toEqual([
      ...["config.json", "generation_config.json"],
      ...[
        "openvino_decoder_model.bin",
        "openvino_decoder_model.xml",
        "openvino_encoder_model.bin",
        "openvino_encoder_model.xml",
      ],
      ...[
        "pergola-conversion.json",
        "preprocessor_config.json",
        "special_tokens_map.json",
        "tokenizer.json",
        "tokenizer_config.json",
      ],
    ]);
    const tokenizer = JSON.parse(await readFile(join(folder, "tokenizer.json"), "utf8")) as {
      added_tokens: { content: string }[];
    };
    expect(tokenizer.added_tokens.at(-1)!.content).toBe("<|30.00|>");
    // It can be loaded like any other folder.
    expect(await load(folder)).toMatchObject({ folder, format: "openvino" });
  });

  it("is converted anew for other weights, and when a file of it changes", async () => {
    const path = await copyOf(fixturePath);
    const half = await load(path);
    const eight = await load(path, { weights: "int8" });
    for (const weights of ["file", "f16"] as const) expect((await load(path, { weights })).folder).toBe(half.folder);
    const four = { path: "weights", received: "int4", message: expect.stringMatching(/f16 or int8/) as string };
    await expect(load(path, { weights: "int4" })).rejects.toMatchObject(four);
    expect(eight.folder).not.toBe(half.folder);
    expect((await stat(eight.decoder.bin)).size).toBeLessThan((await stat(half.decoder.bin)).size);
    await utimes(join(path, "config.json"), 5, 5);
    expect((await load(path)).folder).not.toBe(half.folder);
  });

  it.each<[string, (folder: string) => Promise<unknown>]>([
    ["shorter weights", (folder) => truncate(join(folder, "openvino_decoder_model.bin"), 100)],
    ["a missing graph", (folder) => rm(join(folder, "openvino_encoder_model.xml"))],
    ["a missing list of files", (folder) => rm(join(folder, "pergola-conversion.json"))],
    [
      "a changed tokenizer of the same size",
      async (folder) => {
        const file = join(folder, "tokenizer.json");
        await writeFile(file, (await readFile(file, "utf8")).replace("<|endoftext|>", "<|endoftexT|>"));
      },
    ],
    [
      "another converter's files",
      async (folder) => {
        const file = join(folder, "pergola-conversion.json");
        await writeFile(file, (await readFile(file, "utf8")).replace(/"converter": \d+/, '"converter": 0'));
      },
    ],
    [
      "a file in its place",
      async (folder) => {
        await rm(folder, { recursive: true });
        await writeFile(folder, "?");
      },
    ],
  ])("is converted again over %s", async (_, damage) => {
    const { folder } = await load(fixturePath);
    const before = await readFile(join(folder, "openvino_decoder_model.bin"));
    await damage(folder);
    expect((await load(fixturePath)).folder).toBe(folder);
    expect(await readFile(join(folder, "openvino_decoder_model.bin"))).toEqual(before);
    expect(await conversions()).toHaveLength(1);
  });

  it("may be converted several times at once", async () => {
    const sources = await Promise.all(Array.from({ length: 4 }, () => load(fixturePath)));
    expect(new Set(sources.map(({ folder }) => folder)).size).toBe(1);
    expect(await conversions()).toHaveLength(1);
    expect(await load(fixturePath)).toEqual(sources[0]);
  });

  it("can be abandoned: before, and on the way", async () => {
    const reason = new Error("enough");
    await expect(load(fixturePath, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const loading = load(fixturePath, { signal: controller.signal, onProgress: () => controller.abort(reason) });
    await expect(loading).rejects.toBe(reason);
    expect(await conversions()).toEqual([]);
    expect((await load(fixturePath)).format).toBe(format);
  });

  it("ends with what a listener throws", async () => {
    const reason = new Error("listener");
    const onProgress = (): never => {
      throw reason;
    };
    await expect(load(fixturePath, { onProgress })).rejects.toBe(reason);
    expect(await conversions()).toEqual([]);
  });

  it("goes into a folder of its own without a cache", async () => {
    const { folder } = await load(fixturePath, { cacheFolder: "" });
    expect(folder.startsWith(tmpdir())).toBe(true);
    expect((await load(fixturePath, { cacheFolder: "" })).folder).toBe(folder);
  });

  it("is told where nothing can be written", async () => {
    const error = await failure(fixturePath, { cacheFolder: join("/proc", "pergola") });
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toMatch(/cannot be written/);
  });

  it("has old rests of killed processes removed, and only those", async () => {
    const folder = join(models.cacheFolder, "converted");
    for (const [name, age] of [
      [".partial-old-1-00", 2 * 86_400],
      [".partial-new-2-00", 60],
    ] as const) {
      await mkdir(join(folder, name), { recursive: true });
      const then = Date.now() / 1000 - age;
      await utimes(join(folder, name), then, then);
    }
    await load(fixturePath);
    expect((await conversions()).filter((name) => name.startsWith("."))).toEqual([".partial-new-2-00"]);
  });

  it.each(["config.json", "tokenizer.json"])("without %s is told with a remedy", async (name) => {
    const path = await copyOf(fixturePath);
    await rm(join(path, name));
    const error = await failure(path);
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toMatch(new RegExp(`${name.replace(".", "\\.")} \\(missing\\)`));
  });

  it.each(["config.json", "tokenizer.json"])("with a broken %s is told", async (name) => {
    const path = await copyOf(fixturePath);
    await writeFile(join(path, name), "{ broken");
    const error = await failure(path);
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toContain(name);
  });

  it("with another model's tokenizer is told", async () => {
    const path = await copyOf(fixturePath);
    const file = join(path, "tokenizer.json");
    const tokenizer = JSON.parse(await readFile(file, "utf8")) as { added_tokens: { id: number }[] };
    for (const token of tokenizer.added_tokens) token.id += 1;
    await writeFile(file, JSON.stringify(tokenizer));
    const error = await failure(path);
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toMatch(/tokenizer\.json/);
  });

  it("with truncated weights is told", async () => {
    const path = await copyOf(fixturePath);
    const name = format === "ctranslate2" ? "model.bin" : "model.safetensors";
    for (const size of [0, 3, 1000, 100_000]) {
      await cp(join(fixturePath, name), join(path, name));
      await truncate(join(path, name), size);
      const error = await failure(path);
      expect(error).toBeInstanceOf(ModelError);
      expect(error.message).toContain(name);
    }
    expect(await conversions()).toEqual([]);
  });
});

describe("a Hugging Face checkpoint", () => {
  it("that is older gets the fields of generation_config.json from elsewhere", async () => {
    const path = await copyOf(HF);
    await rm(join(path, "generation_config.json"));
    const file = join(path, "config.json");
    const config = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
    await writeFile(file, JSON.stringify({ ...config, suppress_tokens: [1, 2], begin_suppress_tokens: [3] }));
    const { generationConfig } = await load(path);
    expect(generationConfig).toMatchObject({
      suppress_tokens: [1, 2],
      begin_suppress_tokens: [3],
      no_timestamps_token_id: 266,
    });
    expect(generationConfig).toMatchObject({ decoder_start_token_id: 257, eos_token_id: 256, max_length: 448 });
  });

  it("keeps its own generation_config.json", async () => {
    const given = JSON.parse(await readFile(join(HF, "generation_config.json"), "utf8")) as Record<string, unknown>;
    expect((await load(HF)).generationConfig).toMatchObject(given);
  });

  it("whose files disagree about the tokens is told", async () => {
    const path = await copyOf(HF);
    const file = join(path, "generation_config.json");
    await writeFile(file, (await readFile(file, "utf8")).replace(/("no_timestamps_token_id": )\d+/, "$150363"));
    const error = await failure(path);
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toMatch(/50363.*266/);
  });

  it("whose configuration belongs to another one is told", async () => {
    const path = await copyOf(HF);
    const file = join(path, "config.json");
    await writeFile(file, (await readFile(file, "utf8")).replace('"decoder_layers": 2', '"decoder_layers": 4'));
    expect((await failure(path)).message).toMatch(/no tensor "model\.decoder\.layers\.2\./);
  });
});

describe("a CTranslate2 checkpoint", () => {
  it("whose alignment heads or lists are impossible is told", async () => {
    const path = await copyOf(CT2);
    const file = join(path, "config.json");
    const config = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
    for (const wrong of [{ alignment_heads: [[5, 0]] }, { alignment_heads: [3] }, { suppress_ids: "1,2" }]) {
      await writeFile(file, JSON.stringify({ ...config, ...wrong }));
      expect(await failure(path)).toBeInstanceOf(ModelError);
    }
  });
});

describe("other things are named", () => {
  async function folder(files: Record<string, string>): Promise<string> {
    const path = join(models.root, "other");
    await mkdir(path, { recursive: true });
    for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content);
    return path;
  }

  it.each<[string, Record<string, string>, RegExp]>([
    ["an empty folder", {}, /It is empty/],
    ["a language model", { "openvino_model.xml": "<net/>" }, /a language model in OpenVINO IR/],
    ["a vision-language model", { "openvino_language_model.xml": "<net/>" }, /a vision-language model/],
    ["a GGUF model", { "a.gguf": "GGUF" }, /a GGUF model/],
    ["a diffusion model", { "model_index.json": "{}" }, /a diffusion model/],
    [
      "another checkpoint",
      { "config.json": '{"model_type":"llama"}', "model.safetensors": "x" },
      /of the kind "llama"/,
    ],
    ["a folder with a text", { "readme.txt": "hello" }, /It holds: readme\.txt/],
    ["a checkpoint without weights", { "config.json": '{"model_type":"whisper"}' }, /has no weights/],
    [
      "another CTranslate2 file",
      { "model.bin": "hello", "config.json": "{}", "tokenizer.json": "{}" },
      /tokenizer\.json/,
    ],
  ])("%s", async (_, files, message) => {
    const error = await failure(await folder(files));
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toMatch(message);
  });

  it.each<[string, Record<string, string>, string, RegExp]>([
    ["PyTorch weights", { "config.json": '{"model_type":"whisper"}', "pytorch_model.bin": "x" }, "", /PyTorch weights/],
    ["openai's own file", { "base.pt": "PK" }, "base.pt", /PyTorch weights/],
    ["a whisper.cpp model", { "ggml-base.bin": "lmgg1234" }, "ggml-base.bin", /whisper\.cpp/],
  ])("%s are not supported", async (_, files, name, message) => {
    const error = await failure(join(await folder(files), name));
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error.message).toMatch(message);
  });

  it("a path with nothing at it, and a hub id", async () => {
    expect(await failure(join(models.root, "none"))).toBeInstanceOf(ModelError);
    expect(await failure("openai/whisper-base")).toBeInstanceOf(UnsupportedError);
  });

  it.each([undefined, null, 5, "", {}, "https://example.com/model"])("%j is no path", async (value) => {
    expect(await failure(value)).toBeInstanceOf(OptionError);
  });
});
