import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { writeWhole } from "./write-whole.js";

const folder = mkdtempSync(join(tmpdir(), "pergola-whole-"));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe("writing a file in one step", () => {
  it("writes text and bytes, and replaces what was there", async () => {
    const file = join(folder, "a.txt");
    writeFileSync(file, "something longer");
    await writeWhole(file, "new");
    expect(readFileSync(file, "utf8")).toBe("new");
    await writeWhole(file, Uint8Array.of(1, 2, 255));
    expect([...readFileSync(file)]).toEqual([1, 2, 255]);
    expect(readdirSync(folder)).toEqual(["a.txt"]);
  });

  it("leaves nothing behind when it fails", async () => {
    const taken = join(folder, "folder");
    mkdirSync(taken);
    await expect(writeWhole(taken, "x")).rejects.toThrow(/EISDIR|EEXIST|ENOTEMPTY/);
    await expect(writeWhole(join(folder, "none", "a"), "x")).rejects.toThrow("ENOENT");
    expect(readdirSync(folder).sort()).toEqual(["a.txt", "folder"]);
  });
});
