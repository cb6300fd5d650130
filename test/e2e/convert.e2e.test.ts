import { cp, mkdtemp, readdir, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { root } from "./support/paths.js";
import { pergola, runModule } from "./support/run.js";

// As built, conversions run in a worker thread; as TypeScript (the unit tests) they do not.

const checkpoint = path.join(root, "test", "fixtures", "whisper", "ct2-tiny");

let folder: string;
beforeEach(async () => (folder = await mkdtemp(path.join(tmpdir(), "pergola-convert-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Source of a module that converts and prints what comes of it. */
function source(from: string, out: string, options = "{}", before = ""): string {
  return `
    import { convertModel, ModelError } from "pergola";
    ${before}
    convertModel(${JSON.stringify(from)}, ${JSON.stringify(out)}, ${options}).then(
      ({ files }) => console.log(files.length),
      (error) => console.log(error instanceof ModelError, error.file, error.message ?? error),
    );
  `;
}

it("a program that converts ends by itself", async () => {
  const out = path.join(folder, "out");
  expect(await runModule(source(checkpoint, out))).toEqual({ code: 0, signal: null, stdout: "11\n", stderr: "" });
  expect(await readdir(out)).toHaveLength(11);
});

it("errors keep their class and fields on the way out of the worker thread", async () => {
  const copy = path.join(folder, "model");
  await cp(checkpoint, copy, { recursive: true });
  await truncate(path.join(copy, "model.bin"), 50_000);
  const { stdout, code } = await runModule(source(copy, path.join(folder, "out")));
  expect(stdout).toContain(`true ${path.join(copy, "model.bin")} `);
  expect(stdout).toContain("truncated");
  expect(code).toBe(0);
});

it("an abandoned conversion rejects with the reason and leaves no folder", async () => {
  const before = "const controller = new AbortController();";
  const options = '{ signal: controller.signal, onProgress: () => controller.abort("the reason") }';
  const { stdout } = await runModule(source(checkpoint, path.join(folder, "out"), options, before));
  expect(stdout).toBe("false undefined the reason\n");
  expect(await readdir(folder)).toEqual([]);
});

it("what a listener throws ends the conversion", async () => {
  const options = '{ onProgress: () => { throw "from the listener"; } }';
  const { stdout } = await runModule(source(checkpoint, path.join(folder, "out"), options));
  expect(stdout).toBe("false undefined from the listener\n");
  expect(await readdir(folder)).toEqual([]);
});

it("pergola convert", async () => {
  const out = path.join(folder, "out");
  const outcome = await pergola(["convert", checkpoint, "--out", out, "--weights", "int8"]);
  expect(outcome).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringMatching(/whisper, int8 weights/) as string,
  });
  expect(await readdir(out)).toContain("openvino_decoder_model.bin");
});
