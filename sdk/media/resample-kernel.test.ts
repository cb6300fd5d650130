import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import wabt from "wabt";
import { KERNEL_BINARY } from "./resample-kernel.js";

it("is what resample-kernel.wat says (if this fails, put the received text into resample-kernel.ts)", async () => {
  const source = readFileSync(new URL("resample-kernel.wat", import.meta.url), "utf8");
  const module = (await wabt()).parseWat("resample-kernel.wat", source, { simd: true });
  expect(Buffer.from(module.toBinary({}).buffer).toString("base64")).toBe(KERNEL_BINARY);
});
