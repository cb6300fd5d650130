import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { collectingTerminal } from "../testing/collecting-terminal.js";
import { createProgram } from "./program.js";
import { describeError } from "./report-error.js";

const HF = fileURLToPath(new URL("../../test/fixtures/whisper/tiny-hf", import.meta.url));

const LLAMA = fileURLToPath(new URL("../../test/fixtures/llm/llama-tiny-hf", import.meta.url));

let root: string;
beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), "pergola-convert-"))));
afterEach(() => rm(root, { recursive: true, force: true }));

interface Ran {
  printed: string;
  /** What it wrote to stderr itself. */
  said: string;
  /** What would be reported. */
  report: ReturnType<typeof describeError> | undefined;
}

/** Runs the command. */
async function run(...args: string[]): Promise<Ran> {
  const terminal = collectingTerminal();
  const report = await createProgram(terminal)
    .parseAsync(["convert", ...args], { from: "user" })
    .then(
      () => undefined,
      (error: unknown) => describeError(error, false),
    );
  return { printed: terminal.printed(), said: terminal.reported(), report };
}

it("converts and says what it made", async () => {
  const out = join(root, "out");
  const { printed, report } = await run(HF, "--out", out, "--weights", "int8");
  expect(report).toBeUndefined();
  expect(printed).toMatch(/^\S+out: whisper, int8 weights, \d+ kB\n$/);
  expect(await readdir(out)).toContain("openvino_encoder_model.bin");
});

it("takes language models, in 4 bits too", async () => {
  const out = join(root, "out");
  const { printed, report } = await run(LLAMA, "--out", out, "--weights", "int4", "--group-size", "32");
  expect(report).toBeUndefined();
  expect(printed).toMatch(/^\S+out: llama, int4 weights \(groups of 32\), \d+ kB\n$/);
  expect(await readdir(out)).toEqual(
    expect.arrayContaining(["openvino_model.xml", "openvino_model.bin", "tokenizer.json"]),
  );
  const wrong = await run(LLAMA, "--out", join(root, "b"), "--weights", "int4", "--group-size", "48");
  expect(wrong.report).toMatchObject({ exitCode: 2, text: expect.stringMatching(/32, 64, 128, or -1/) as string });
});

it("prints the SDK's result with --json", async () => {
  const out = join(root, "out");
  const { printed } = await run(HF, "-o", out, "--json");
  expect(JSON.parse(printed)).toMatchObject({ path: out, architecture: "whisper", weights: "f16" });
});

it("reports problems with their exit codes", async () => {
  const out = join(root, "out");
  await run(HF, "--out", out);
  expect((await run(HF, "--out", out)).report).toMatchObject({
    exitCode: 2,
    text: expect.stringMatching(/^error: --out must be a new or empty folder, .*--overwrite/) as string,
  });
  expect((await run(HF, "--out", out, "--overwrite")).report).toBeUndefined();
  expect((await run(join(root, "none"), "--out", join(root, "b"))).report).toMatchObject({ exitCode: 1 });
  expect((await run(HF)).report).toMatchObject({ exitCode: 2 });
  expect((await run(HF, "--out", join(root, "c"), "--weights", "int3")).report).toMatchObject({ exitCode: 2 });
});

it("is ended by Ctrl-C, and says that the same command goes on", async () => {
  const out = join(root, "out");
  const before = process.listenerCount("SIGINT");
  const ended = run(HF, "--out", out);
  while (process.listenerCount("SIGINT") === before) await new Promise((resolve) => setImmediate(resolve));
  process.emit("SIGINT");
  const { printed, said, report } = await ended;
  expect(report).toEqual({ text: undefined, exitCode: 130 });
  expect(printed).toBe("");
  expect(said).toBe("Interrupted. The same command goes on where this one was.\n");
  expect(await readdir(root)).not.toContain("out");
  expect((await run(HF, "--out", out)).report).toBeUndefined();
});
