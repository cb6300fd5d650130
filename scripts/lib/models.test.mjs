import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { joinParts, MODELS } from "./models.mjs";

let folder;
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), "pergola-models-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("parts of a file", () => {
  const join = async (...contents) => {
    const parts = contents.map((content, index) => {
      const part = path.join(folder, `part${index}`);
      writeFileSync(part, content);
      return part;
    });
    const file = path.join(folder, "whole");
    await joinParts(file, parts);
    expect(parts.filter((part) => existsSync(part))).toEqual([]);
    return readFileSync(file, "latin1");
  };

  it("are joined in their order", async () => expect(await join("one,", "two,", "three")).toBe("one,two,three"));
  it("may be the whole file", async () => expect(await join("all")).toBe("all"));
});

it.each(Object.entries(MODELS))("%s: wheels make exactly the files that have hashes", (_, { wheels, files }) => {
  const made = wheels.flatMap(({ members }) => Object.values(members));
  expect([...new Set(made)].sort()).toEqual(Object.keys(files).sort());
  const hashes = [...wheels.map(({ sha256 }) => sha256), ...Object.values(files)];
  for (const hash of hashes) expect(hash).toMatch(/^[0-9a-f]{64}$/);
  expect(new Set(hashes).size).toBe(hashes.length);
});
