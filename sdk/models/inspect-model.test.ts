import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { inspectModel } from "./inspect-model.js";

const FIXTURE = fileURLToPath(new URL("../../test/fixtures/llm/qwen2-tiny-ir", import.meta.url));

it("tells what the files of a folder say", async () => {
  expect(await inspectModel(FIXTURE)).toEqual({
    format: "ir",
    files: [`${FIXTURE}/openvino_model.xml`, `${FIXTURE}/openvino_model.bin`],
    weightBytes: statSync(`${FIXTURE}/openvino_model.bin`).size,
    architecture: "qwen2",
    contextLength: 2048,
  });
});

it("refuses what cannot be loaded", async () => {
  await expect(inspectModel("/none")).rejects.toMatchObject({ code: "model" });
});
