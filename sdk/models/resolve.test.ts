import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { modelPath } from "./model-path.js";
import { resolveModel } from "./resolve.js";

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
  it.each([undefined, null, 5, "", "  ", Buffer.from("x"), {}, [], new URL("http://host/model"), "https://host/m", "a\0b"])(
    "%s",
    async (given) => {
      await expect(resolveModel(given)).rejects.toMatchObject({ code: "option", path: "model" });
    },
  );
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
    await expect(resolveModel(CHECKPOINT)).rejects.toMatchObject({ code: "unsupported", subject: "checkpoint conversion" });
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
    expect(await resolveModel(dirname(path))).toMatchObject({ kind: "gguf", path: dirname(path), gguf: { files: [path] } });
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
    await expect(resolveModel(join(path, "a.gguf"))).rejects.toMatchObject({ code: "model", file: join(path, "a.gguf") });
    const empty = await folder("nothing", { "a.gguf": "" });
    await expect(resolveModel(empty)).rejects.toThrow(/a.gguf is empty/);
    await symlink(join(path, "gone"), join(root, "dangling.gguf"));
    await expect(resolveModel(join(root, "dangling.gguf"))).rejects.toThrow(/link to a file that does not exist/);
  });
});
