import { execFileSync } from "node:child_process";
import { createWriteStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fileSource } from "./byte-sources.js";

let folder: string;
let pipe: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pergola-bytes-"));
  pipe = join(folder, "pipe");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(process.platform === "win32")("a named pipe", () => {
  beforeEach(() => void execFileSync("mkfifo", [pipe]));

  it.each(["audio", "image"] as const)("without a writer is given up when the signal aborts: %s", async (kind) => {
    const controller = new AbortController();
    const reason = new Error("enough");
    // More than Node has threads: each that still waited would hold one, and the last read would not come.
    const waiting = Array.from({ length: 6 }, () => fileSource(pipe, controller.signal, kind));
    setTimeout(() => controller.abort(reason), 20);
    for (const result of await Promise.allSettled(waiting)) expect(result).toEqual({ status: "rejected", reason });
    await expect(fileSource(join(folder, "none"), undefined, kind)).rejects.toThrow(/no such file/);
  });

  it("is read when its writer comes", async () => {
    const opening = fileSource(pipe, new AbortController().signal);
    createWriteStream(pipe).end("abc");
    const source = await opening;
    expect(Buffer.from((await source.next())!).toString()).toBe("abc");
    expect(await source.next()).toBeUndefined();
    await source.close();
  });
});
