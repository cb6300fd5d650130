import { cp, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ModelError } from "../core/errors.js";
import { inspectModel } from "./inspect-model.js";

const fixture = path.resolve(import.meta.dirname, "../../test/fixtures/llm/llama-tiny-ir");
let folder: string;
beforeEach(async () => {
  folder = path.join(await mkdtemp(path.join(tmpdir(), "pergola-inspect-")), "model");
  await cp(fixture, folder, { recursive: true });
});
afterEach(() => rm(path.dirname(folder), { recursive: true, force: true }));

it("reports an IR folder", async () => {
  const { size } = await stat(path.join(fixture, "openvino_model.bin"));
  expect(await inspectModel(folder)).toMatchObject({
    format: "ir",
    files: [path.join(folder, "openvino_model.xml"), path.join(folder, "openvino_model.bin")],
    weightBytes: size,
    architecture: "llama",
  });
});

it("names everything that is missing in one error", async () => {
  await rm(path.join(folder, "openvino_model.bin"));
  await rm(path.join(folder, "tokenizer.json"));
  const error: unknown = await inspectModel(folder).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ModelError);
  expect((error as Error).message).toMatch(/openvino_model\.bin.*tokenizer\.json/);
});
