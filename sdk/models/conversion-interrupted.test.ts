import { spawnSync } from "node:child_process";
import type * as fs from "node:fs/promises";
import {
  open,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
  type FileHandle,
} from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ModelError } from "../core/errors.js";
import { cachedConversion } from "./convert/conversion-cache.js";
import { isComplete, conversionKey } from "./convert/run/conversion.js";
import { convertModel } from "./convert-model.js";

/** Bytes that the file system says are free; undefined = the truth. */
const disk = vi.hoisted(() => ({ free: undefined as number | undefined }));
vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof fs>();
  const statfs = async (path: string): Promise<unknown> => {
    const found = await real.statfs(path);
    return disk.free === undefined ? found : { blocks: found.blocks, bsize: 1, bavail: disk.free };
  };
  return { ...real, statfs };
});

// Two graphs: the encoder's weights are a bit more than a third.
const HF = fileURLToPath(new URL("../../test/fixtures/whisper/tiny-hf", import.meta.url));
const REASON = new Error("interrupted");

let root: string;
let out: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "pergola-resume-"));
  out = join(root, "model");
});
afterEach(async () => {
  disk.free = undefined;
  vi.restoreAllMocks();
  await rm(root, { recursive: true, force: true });
});

/** Converts until the encoder is complete and part of the decoder is written. */
async function interrupt(weights: "f16" | "int8" = "f16"): Promise<void> {
  const controller = new AbortController();
  const onProgress = (): void => {
    // The file has its own name as soon as it is complete.
    void partials().then(async ([partial]) => {
      if (partial && (await stat(join(root, partial, ENCODER)).catch(() => undefined))) controller.abort(REASON);
    });
  };
  await expect(convertModel(HF, out, { weights, signal: controller.signal, onProgress })).rejects.toBe(REASON);
}

const ENCODER = "openvino_encoder_model.bin";
const partials = async (): Promise<string[]> => (await readdir(root)).filter((name) => name.startsWith(".partial-"));
const inode = async (...path: string[]): Promise<number> => (await stat(join(root, ...path))).ino;

async function makePartial(name: string, owner: { key: string; pid: number; host?: string }): Promise<string> {
  const path = join(root, `.partial-model-${name}`);
  await mkdir(path);
  await writeFile(join(path, "owner.json"), JSON.stringify({ host: hostname(), ...owner }));
  await writeFile(join(path, "mark"), "");
  return path;
}

const key = (): Promise<string> =>
  conversionKey({ architecture: "whisper", format: "safetensors", folder: HF }, { format: "f16" });

describe("an interrupted conversion", () => {
  it("is gone on with: graphs that are complete are not made again", async () => {
    await interrupt();
    expect((await readdir(root)).every((name) => name.startsWith(".partial-"))).toBe(true);
    const [partial] = await partials();
    const before = await inode(partial!, ENCODER);
    const told: number[] = [];
    const { files } = await convertModel(HF, out, { onProgress: ({ fraction }) => told.push(fraction) });
    expect(await inode("model", ENCODER)).toBe(before);
    expect(told[0]).toBeGreaterThan(0.3);
    expect(told.at(-1)).toBeCloseTo(1, 10);
    expect(await partials()).toEqual([]);
    expect((await readdir(out)).sort()).toEqual(files);
    expect(await isComplete(out)).toBe(true);
    await convertModel(HF, join(root, "whole"));
    for (const name of files)
      expect(await readFile(join(out, name)), name).toEqual(await readFile(join(root, "whole", name)));
  });

  it("is not gone on with when something else is asked for", async () => {
    await interrupt();
    const [partial] = await partials();
    const before = await inode(partial!, ENCODER);
    await convertModel(HF, out, { weights: "int8" });
    expect(await partials()).toEqual([partial]);
    expect(await inode("model", ENCODER)).not.toBe(before);
  });

  it("whose graph was cut short makes it again", async () => {
    await interrupt();
    const [partial] = await partials();
    await writeFile(join(root, partial!, ENCODER), "short");
    await convertModel(HF, out);
    expect((await stat(join(out, ENCODER))).size).toBeGreaterThan(1000);
    expect(await isComplete(out)).toBe(true);
  });

  it("leaves nothing if no graph is complete", async () => {
    const controller = new AbortController();
    const onProgress = (): void => controller.abort(REASON);
    await expect(convertModel(HF, out, { signal: controller.signal, onProgress })).rejects.toBe(REASON);
    expect(await readdir(root)).toEqual([]);
  });
});

describe("a folder under construction", () => {
  it("is taken over from a process that has ended, whatever ended it", async () => {
    const { pid } = spawnSync(process.execPath, ["-e", ""]);
    await makePartial("dead", { key: await key(), pid });
    await convertModel(HF, out);
    expect(await readdir(out)).toContain("mark");
    expect(await partials()).toEqual([]);
  });

  it("is taken over from one of another machine that shows no sign of life", async () => {
    const path = await makePartial("silent", { key: await key(), pid: process.pid, host: "elsewhere" });
    const past = new Date(Date.now() - 3 * 60_000);
    await utimes(join(path, "owner.json"), past, past);
    await convertModel(HF, out);
    expect(await readdir(out)).toContain("mark");
  });

  it("is left to those who work in it, here or on another machine", async () => {
    await makePartial("here", { key: await key(), pid: process.ppid });
    await makePartial("there", { key: await key(), pid: 1, host: "elsewhere" });
    await convertModel(HF, out);
    expect(await readdir(out)).not.toContain("mark");
    expect(await partials()).toEqual([".partial-model-here", ".partial-model-there"]);
  });

  it("is removed when nobody has come back to it for a day", async () => {
    const path = await makePartial("old", { key: "another", pid: 0 });
    const past = new Date(Date.now() - 25 * 3600_000);
    await utimes(join(path, "owner.json"), past, past);
    await makePartial("new", { key: "another", pid: 0 });
    await convertModel(HF, out);
    expect(await partials()).toEqual([".partial-model-new"]);
  });

  it("serves one of several that want it", async () => {
    const { pid } = spawnSync(process.execPath, ["-e", ""]);
    const partial = join(root, "converted", `.partial-${await key()}-dead`);
    await mkdir(join(root, "converted"));
    await rename(await makePartial("dead", { key: await key(), pid }), partial);
    const checkpoint = { architecture: "whisper", format: "safetensors", folder: HF } as const;
    const plan = { format: "f16" } as const;
    const made = await Promise.all([1, 2, 3].map(() => cachedConversion({ checkpoint, plan }, { cacheFolder: root })));
    expect(new Set(made).size).toBe(1);
    expect(await isComplete(made[0]!)).toBe(true);
    expect(await readdir(join(root, "converted"))).toEqual([await key()]);
  });
});

describe("a disk", () => {
  it("that is too full is told before anything is written, with what is needed", async () => {
    disk.free = 1_000_000;
    const converting = convertModel(HF, out);
    await expect(converting).rejects.toThrow(ModelError);
    await expect(converting).rejects.toThrow(/needs 0\.\d\d GB in .*only 0\.00 GB are free.*smaller weights/);
    expect(await readdir(root)).toEqual([]);
  });

  it("that fills up while it is written to leaves what is complete, and nothing that could be loaded", async () => {
    // Class of file handles, which is not exported.
    const handle = await open(join(root, "probe"), "w");
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    await rm(join(root, "probe"));
    const real = prototype.write;
    const write = vi.spyOn(prototype, "write").mockImplementation(async function (
      this: FileHandle,
      ...parts: unknown[]
    ) {
      const [partial] = await partials();
      // Once the encoder is complete there is no room any more.
      if (partial && (await stat(join(root, partial, ENCODER)).catch(() => undefined))) {
        throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC", syscall: "write" });
      }
      return (real as (...rest: unknown[]) => Promise<{ bytesWritten: number; buffer: never }>).apply(this, parts);
    });
    const converting = convertModel(HF, out);
    await expect(converting).rejects.toMatchObject({ code: "model", file: out });
    await expect(converting).rejects.toThrow(/no space left.*Free some space/);
    const [partial] = await partials();
    expect(await readdir(join(root, partial!))).not.toContainEqual(
      expect.stringMatching(/decoder.*bin$|partial$|pergola-conversion/),
    );
    write.mockRestore();
    const before = await inode(partial!, ENCODER);
    await convertModel(HF, out);
    expect(await inode("model", ENCODER)).toBe(before);
    expect(await isComplete(out)).toBe(true);
  });
});
