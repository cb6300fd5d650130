import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { modelPath } from "./files/model-path.js";
import { resolveModel, type CheckpointOptions, type ModelSource } from "./resolve.js";

const FIXTURE = fileURLToPath(new URL("../../test/fixtures/llm/llama-tiny-ir", import.meta.url));
const CHECKPOINT = fileURLToPath(new URL("../../test/fixtures/llm/llama-tiny-hf", import.meta.url));

let root: string;
beforeAll(async () => void (root = await mkdtemp(join(tmpdir(), "pergola-resolve-"))));
afterAll(() => rm(root, { recursive: true, force: true }));

async function folder(name: string, files: Record<string, string>): Promise<string> {
  const path = join(root, name);
  await mkdir(path, { recursive: true });
  for (const [file, content] of Object.entries(files)) await writeFile(join(path, file), content);
  return path;
}

/** A GGUF file of nothing but a header: version 3, no tensors, and the given split keys. */
function gguf(split?: { index: number; count: number }): Buffer {
  const parts: Buffer[] = [Buffer.from("GGUF")];
  const u32 = (value: number): void => void parts.push(Buffer.from(Uint32Array.of(value).buffer));
  const u64 = (value: number): void => void parts.push(Buffer.from(BigUint64Array.of(BigInt(value)).buffer));
  const entry = (key: string, value: number): void => {
    u64(key.length);
    parts.push(Buffer.from(key));
    u32(4);
    u32(value);
  };
  u32(3);
  u64(0);
  u64(split ? 2 : 0);
  if (split) {
    entry("split.no", split.index);
    entry("split.count", split.count);
  }
  return Buffer.concat(parts);
}

describe("ways to name a folder", () => {
  it("takes absolute and relative paths, a trailing slash and file: URLs", async () => {
    const expected = { kind: "ir", path: FIXTURE, xml: join(FIXTURE, "openvino_model.xml") };
    for (const given of [
      FIXTURE,
      `${FIXTURE}/`,
      relative(process.cwd(), FIXTURE),
      pathToFileURL(FIXTURE).href,
      pathToFileURL(FIXTURE),
      join(FIXTURE, "openvino_model.xml"),
    ]) {
      expect(await resolveModel(given)).toMatchObject(expected);
    }
  });

  it("takes ~ for the home folder", () => {
    expect(modelPath("~/x")).toBe(join(homedir(), "x"));
    expect(modelPath("~x")).toBe(join(process.cwd(), "~x"));
  });

  it("takes awkward names", async () => {
    const awkward = join(root, "mödel 模型 (x) #%20");
    await cp(FIXTURE, awkward, { recursive: true });
    expect(await resolveModel(awkward)).toMatchObject({ path: awkward });
    expect(await resolveModel(pathToFileURL(awkward).href)).toMatchObject({ path: awkward });
  });

  it("follows links file by file, as in the Hugging Face cache", async () => {
    const blobs = join(root, "blobs");
    const snapshot = join(root, "snapshot");
    await cp(FIXTURE, blobs, { recursive: true });
    await mkdir(snapshot);
    for (const file of ["openvino_model.xml", "openvino_model.bin", "config.json", "tokenizer.json"]) {
      await symlink(join(blobs, file), join(snapshot, file));
    }
    expect(await resolveModel(snapshot)).toMatchObject({ kind: "ir", bin: join(snapshot, "openvino_model.bin") });
  });
});

describe("arguments that are no path", () => {
  it.each([
    undefined,
    null,
    5,
    "",
    "  ",
    Buffer.from("x"),
    {},
    [],
    new URL("http://host/model"),
    "https://host/m",
    "a\0b",
  ])("%s", async (given) => {
    await expect(resolveModel(given)).rejects.toMatchObject({ code: "option", path: "model" });
  });
});

describe("folders that will not do", () => {
  it("lists everything that is missing in one error", async () => {
    const path = await folder("partial", { "openvino_model.bin": "", "config.json": "{}" });
    await expect(resolveModel(path)).rejects.toMatchObject({
      code: "model",
      file: join(path, "openvino_model.xml"),
      message: expect.stringContaining(
        "openvino_model.xml (missing), openvino_model.bin (empty), tokenizer.json (missing)",
      ) as string,
    });
  });

  it.each(["openvino_model.xml", "openvino_model.bin", "config.json", "tokenizer.json"])("misses %s", async (file) => {
    const path = join(root, `without-${file}`);
    await cp(FIXTURE, path, { recursive: true });
    await rm(join(path, file));
    await expect(resolveModel(path)).rejects.toMatchObject({ code: "model", file: join(path, file) });
  });

  it("names dangling links, folders in place of files and LFS pointers", async () => {
    const path = await folder("odd", { "openvino_model.xml": "version https://git-lfs.github.com/spec/v1\noid x" });
    await symlink(join(path, "nowhere"), join(path, "openvino_model.bin"));
    await mkdir(join(path, "config.json"));
    const message = await resolveModel(path).catch(String);
    expect(message).toContain("openvino_model.xml (a Git LFS pointer");
    expect(message).toContain("openvino_model.bin (a link to a file that does not exist)");
    expect(message).toContain("config.json (not a file)");
  });

  it("names checkpoints and models of other kinds", async () => {
    await expect(resolveModel(CHECKPOINT)).rejects.toMatchObject({
      code: "unsupported",
      subject: "checkpoint without conversion",
    });
    const vlm = await folder("vlm", { "openvino_language_model.xml": "<net/>" });
    await expect(resolveModel(vlm)).rejects.toThrow(/vision-language model/);
    const empty = await folder("empty", {});
    await expect(resolveModel(empty)).rejects.toThrow(/holds no model.*It is empty/);
    const other = await folder("other", { "notes.txt": "x" });
    await expect(resolveModel(other)).rejects.toThrow(/It holds: notes.txt/);
  });

  it("tells a missing path from a hub id", async () => {
    await expect(resolveModel(join(root, "none"))).rejects.toMatchObject({ code: "model", file: join(root, "none") });
    await expect(resolveModel("./none/model")).rejects.toMatchObject({ code: "model" });
    await expect(resolveModel("sdk/nothing")).rejects.toMatchObject({ code: "model" });
    for (const id of ["some-org/some-model", "some-org/some-model@main"]) {
      await expect(resolveModel(id)).rejects.toMatchObject({
        code: "unsupported",
        message: expect.stringContaining("hf download some-org/some-model --local-dir") as string,
      });
    }
  });

  it("explains Electron archives, but takes a real folder of that name", async () => {
    await expect(resolveModel("/app/resources/app.asar/models/x")).rejects.toThrow(/app\.asar\.unpacked/);
    const real = join(root, "real.asar", "model");
    await cp(FIXTURE, real, { recursive: true });
    expect(await resolveModel(real)).toMatchObject({ kind: "ir" });
  });
});

describe("checkpoints", () => {
  let cacheFolder: string;
  beforeAll(async () => void (cacheFolder = await mkdtemp(join(tmpdir(), "pergola-resolve-cache-"))));
  afterAll(() => rm(cacheFolder, { recursive: true, force: true }));
  const converted = async (more: Partial<CheckpointOptions> = {}): Promise<ModelSource & { kind: "ir" }> => {
    const source = await resolveModel(CHECKPOINT, { cacheFolder, ...more });
    if (source.kind !== "ir") throw new Error(source.kind);
    return source;
  };

  it("are converted once for each way of storing weights", async () => {
    const told: number[] = [];
    const first = await converted({ onProgress: (fraction) => told.push(fraction) });
    expect(first).toMatchObject({ checkpoint: CHECKPOINT, xml: join(first.path, "openvino_model.xml") });
    expect(dirname(first.path)).toBe(join(cacheFolder, "converted"));
    expect(told.at(-1)).toBe(1);
    expect(told.length).toBeGreaterThan(2);
    const written = (await stat(first.bin)).mtimeMs;
    expect(await converted({ weights: "f16" })).toEqual(first);
    expect((await stat(first.bin)).mtimeMs).toBe(written);
    const others = [await converted({ weights: "int8" }), await converted({ weights: "int4" })];
    others.push(await converted({ weights: "int4", groupSize: 32 }));
    expect(new Set([first, ...others].map(({ path }) => path)).size).toBe(4);
    expect(await converted({ weights: "int4", groupSize: 64 })).toEqual(others[1]);
    const sizes = await Promise.all([first, ...others].map(async ({ bin }) => (await stat(bin)).size));
    expect(sizes[1]).toBeLessThan(sizes[0]!);
    expect(sizes[2]).toBeLessThan(sizes[1]!);
  });

  it("may be named by their file of weights", async () => {
    expect(await resolveModel(join(CHECKPOINT, "model.safetensors"), { cacheFolder })).toEqual(await converted());
  });

  it("are converted anew when a file changes", async () => {
    const changed = join(root, "changed");
    await cp(CHECKPOINT, changed, { recursive: true });
    const before = await resolveModel(changed, { cacheFolder });
    await writeFile(join(changed, "generation_config.json"), "{}");
    const after = await resolveModel(changed, { cacheFolder });
    expect(after.path).not.toBe(before.path);
  });

  it("keep tokenizer, template and settings", async () => {
    const { path } = await converted();
    for (const name of ["tokenizer.json", "chat_template.jinja", "generation_config.json", "config.json"]) {
      expect(await readFile(join(path, name)), name).toEqual(await readFile(join(CHECKPOINT, name)));
    }
  });

  it.each([
    [{ weights: "int8", groupSize: 64 }, "groupSize"],
    [{ groupSize: 64 }, "groupSize"],
    [{ weights: "int4", groupSize: 48 }, "groupSize"],
  ] as const)("refuse %j", async (options, path) => {
    await expect(converted(options)).rejects.toMatchObject({ code: "option", path });
  });

  it("give way to IR and GGUF, which have the weights that they have", async () => {
    for (const weights of ["f16", "int4"] as const) {
      const refused = expect(resolveModel(FIXTURE, { cacheFolder, weights })).rejects;
      await refused.toMatchObject({
        code: "option",
        path: "weights",
        message: expect.stringMatching(/pass the checkpoint/) as string,
      });
    }
    await expect(resolveModel(FIXTURE, { cacheFolder, groupSize: 64 })).rejects.toMatchObject({
      code: "option",
      path: "groupSize",
    });
    for (const weights of ["file", "int8"] as const) {
      expect(await resolveModel(FIXTURE, { cacheFolder, weights })).toMatchObject({ kind: "ir", path: FIXTURE });
    }
  });

  it("of other kinds are named, with what loads them", async () => {
    const checkpoint = (name: string, config: object): Promise<string> =>
      folder(name, { "config.json": JSON.stringify(config), "model.safetensors": "x" });
    const whisper = await checkpoint("ck-whisper", { model_type: "whisper" });
    await expect(resolveModel(whisper, { cacheFolder })).rejects.toThrow(/WhisperPipeline/);
    const janus = await checkpoint("ck-janus", { model_type: "multi_modality" });
    await expect(resolveModel(janus, { cacheFolder })).rejects.toThrow(/VLMPipeline.*ImagePipeline/);
    const other = await checkpoint("ck-other", { model_type: "mamba" });
    await expect(resolveModel(other, { cacheFolder })).rejects.toMatchObject({
      code: "unsupported",
      subject: "conversion of mamba",
    });
    await expect(resolveModel(other, { cacheFolder })).rejects.toThrow(/"mamba".*llama.*qwen3.*optimum/s);
    const pickled = await folder("ck-pickled", { "config.json": "{}", "pytorch_model.bin": "x" });
    await expect(resolveModel(pickled, { cacheFolder })).rejects.toMatchObject({
      code: "unsupported",
      subject: "PyTorch weights",
    });
  });

  it("can be abandoned while they are converted", async () => {
    const reason = new Error("enough");
    const controller = new AbortController();
    const loading = converted({
      weights: "int4",
      groupSize: 128,
      signal: controller.signal,
      onProgress: () => controller.abort(reason),
    });
    await expect(loading).rejects.toBe(reason);
    expect(await readdir(join(cacheFolder, "converted"))).not.toContainEqual(expect.stringMatching(/^\.partial/));
  });
});

describe("GGUF", () => {
  const files = async (given: string): Promise<string[]> => {
    const source = await resolveModel(given);
    return source.kind === "gguf" ? source.gguf.files : [];
  };

  it("takes a file, a file without ending, a link to one, and a folder with one", async () => {
    const path = join(await folder("one", { "readme.md": "" }), "model.gguf");
    await writeFile(path, gguf());
    await writeFile(join(dirname(path), "mmproj-model.gguf"), gguf());
    expect(await files(path)).toEqual([path]);
    expect(await resolveModel(dirname(path))).toMatchObject({
      kind: "gguf",
      path: dirname(path),
      gguf: { files: [path] },
    });
    const blob = join(root, "0a1b2c");
    await writeFile(blob, gguf());
    expect(await files(blob)).toEqual([blob]);
    await symlink(blob, join(root, "link.gguf"));
    expect(await files(join(root, "link.gguf"))).toEqual([join(root, "link.gguf")]);
  });

  it("takes any shard, or the folder, of a split model; and -00001-of-00001", async () => {
    const path = await folder("split", {});
    const shards = [0, 1].map((index) => join(path, `m-0000${index + 1}-of-00002.gguf`));
    for (const [index, shard] of shards.entries()) await writeFile(shard, gguf({ index, count: 2 }));
    expect(await files(shards[0]!)).toEqual(shards);
    expect(await files(shards[1]!)).toEqual(shards);
    expect(await files(path)).toEqual(shards);
    await rm(shards[0]!);
    await expect(resolveModel(shards[1]!)).rejects.toMatchObject({ code: "model", file: shards[0] });
    const whole = join(root, "whole-00001-of-00001.gguf");
    await writeFile(whole, gguf());
    expect(await files(whole)).toEqual([whole]);
  });

  it("asks which of several models is meant, and refuses what is no GGUF", async () => {
    const path = await folder("several", { "a.gguf": "x", "b.gguf": "x" });
    await expect(resolveModel(path)).rejects.toThrow(/2 GGUF models: a.gguf, b.gguf/);
    await expect(resolveModel(join(path, "a.gguf"))).rejects.toMatchObject({
      code: "model",
      file: join(path, "a.gguf"),
    });
    const empty = await folder("nothing", { "a.gguf": "" });
    await expect(resolveModel(empty)).rejects.toThrow(/a.gguf is empty/);
    await symlink(join(path, "gone"), join(root, "dangling.gguf"));
    await expect(resolveModel(join(root, "dangling.gguf"))).rejects.toThrow(/link to a file that does not exist/);
  });
});
