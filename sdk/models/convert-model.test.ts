import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ModelError, OptionError } from "../core/errors.js";
import { convertModel } from "./convert-model.js";

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../test/fixtures/whisper/${name}`, import.meta.url));
const HF = fixture("tiny-hf");

let root: string;
let out: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "pergola-convert-"));
  out = join(root, "new", "folder");
});
afterEach(() => rm(root, { recursive: true, force: true }));

describe("a conversion", () => {
  it("makes the folder and tells what is in it", async () => {
    const told: object[] = [];
    const result = await convertModel(HF, out, { weights: "file", onProgress: (progress) => told.push(progress) });
    expect(told.at(-1)).toEqual({ fraction: expect.closeTo(1, 10) as number });
    expect(result).toMatchObject({ path: out, architecture: "whisper", weights: "f16" });
    expect(result.files).toEqual((await readdir(out)).sort());
    const sizes = await Promise.all(result.files.map(async (name) => (await stat(join(out, name))).size));
    expect(result.bytes).toBe(sizes.reduce((sum, size) => sum + size));
    expect(await readdir(join(root, "new"))).toEqual(["folder"]);
  });

  it("of both kinds of checkpoints has the same graphs and weights", async () => {
    await convertModel(HF, out, { weights: "int8" });
    const other = pathToFileURL(join(root, "other"));
    await convertModel(pathToFileURL(fixture("ct2-tiny")), other, { weights: "int8" });
    for (const name of ["encoder", "decoder"]) {
      for (const ending of ["xml", "bin"]) {
        const file = `openvino_${name}_model.${ending}`;
        expect(await readFile(join(root, "other", file)), file).toEqual(await readFile(join(out, file)));
      }
    }
  });

  it("takes an empty folder", async () => {
    await mkdir(out, { recursive: true });
    await convertModel(HF, out);
    expect(await readdir(out)).toContain("openvino_decoder_model.xml");
  });

  it("replaces an earlier one when it is allowed to", async () => {
    await convertModel(HF, out);
    await writeFile(join(out, "mine.txt"), "");
    const again = convertModel(HF, out);
    await expect(again).rejects.toThrow(OptionError);
    await expect(again).rejects.toThrow(/overwrite/);
    expect(await readdir(out)).toContain("mine.txt");
    const { bytes } = await convertModel(HF, out, { overwrite: true, weights: "int8" });
    expect(await readdir(out)).not.toContain("mine.txt");
    expect(bytes).toBeGreaterThan(0);
  });

  it("needs a config.json", async () => {
    const checkpoint = join(root, "checkpoint");
    await cp(HF, checkpoint, { recursive: true });
    await rm(join(checkpoint, "config.json"));
    const conversion = convertModel(checkpoint, out);
    await expect(conversion).rejects.toThrow(ModelError);
    await expect(conversion).rejects.toThrow(/has no config\.json that tells what it is/);
  });

  it("can be abandoned, and leaves nothing", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const converting = convertModel(HF, out, { signal: controller.signal, onProgress: () => controller.abort(reason) });
    await expect(converting).rejects.toBe(reason);
    expect(await readdir(join(root, "new"))).toEqual([]);
  });
});

describe("refuses", () => {
  it("a folder that holds something else, even with overwrite", async () => {
    await mkdir(out, { recursive: true });
    await writeFile(join(out, "thesis.txt"), "years of work");
    await expect(convertModel(HF, out, { overwrite: true })).rejects.toThrow(OptionError);
    expect(await readdir(out)).toEqual(["thesis.txt"]);
  });

  it("a file, the checkpoint's own folder, and what holds it", async () => {
    await writeFile(join(root, "file"), "");
    await cp(HF, join(root, "model"), { recursive: true });
    for (const wrong of [join(root, "file"), join(root, "model"), root, `${join(root, "model")}/`]) {
      await expect(convertModel(join(root, "model"), wrong, { overwrite: true })).rejects.toThrow(OptionError);
    }
    expect((await readdir(join(root, "model"))).sort()).toEqual((await readdir(HF)).sort());
  });

  it("OpenVINO IR", async () => {
    await expect(convertModel(fixture("tiny-ir"), out)).rejects.toThrow(ModelError);
    await expect(convertModel(fixture("tiny-ir"), out)).rejects.toThrow(/OpenVINO IR already/);
  });

  it.each([
    [{ weights: "int3" }, "weights"],
    // Whisper has no 4 bits.
    [{ weights: "int4" }, "weights"],
    [{ groupSize: 64 }, "groupSize"],
    [{ weights: "int4", groupSize: 48 }, "groupSize"],
    [{ weigths: "int8" }, "weigths"],
    [{ overwrite: 1 }, "overwrite"],
    [{ signal: {} }, "signal"],
    [{ onProgress: true }, "onProgress"],
  ])("options %j", async (options, path) => {
    await expect(convertModel(HF, out, options as never)).rejects.toMatchObject({ code: "option", path });
  });

  it.each([undefined, null, 5, ""])("%j as the folder to make", async (wrong) => {
    await expect(convertModel(HF, wrong as never)).rejects.toMatchObject({ code: "option", path: "out" });
  });

  it.each([undefined, 5, ""])("%j as the checkpoint", async (wrong) => {
    await expect(convertModel(wrong as never, out)).rejects.toMatchObject({ code: "option", path: "model" });
  });
});
