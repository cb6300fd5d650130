import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { binBytes, bytesBegun, writeConstants } from "./constants-file.js";
import { Graph } from "./graph.js";
import { constant } from "./operations.js";

let folder: string;
let bin: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pergola-constants-"));
  bin = join(folder, "model.bin");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const SIZE = 1000;
const NOTE = { noteBytes: 2 * SIZE };

/**
 * Ten constants, each of a value of its own; every second one follows the one before it, as scales do. Tells which are made.
 *
 * @param broken - the one that cannot be made
 */
function graphOf(made: number[], broken?: number): Graph {
  const graph = new Graph("ten");
  for (let index = 0; index < 10; index++) {
    constant(
      graph,
      "u8",
      [SIZE],
      SIZE,
      async function* () {
        // Time for what is noted on the side.
        await new Promise((resolve) => setTimeout(resolve, 20));
        if (index === broken) throw new Error("broken off");
        made.push(index);
        yield new Uint8Array(SIZE / 2).fill(index);
        yield new Uint8Array(SIZE / 2).fill(index);
      },
      { follows: index % 2 === 1 },
    );
  }
  return graph;
}

async function whole(): Promise<Buffer> {
  const other = join(folder, "whole.bin");
  await writeConstants(graphOf([]), other);
  return readFile(other);
}

describe("a file that was broken off", () => {
  it("is gone on with where it was noted last, before one that stands for itself", async () => {
    await expect(writeConstants(graphOf([], 7), bin, NOTE)).rejects.toThrow("broken off");
    expect((await readdir(folder)).sort()).toEqual(["model.bin.partial", "model.bin.written"]);
    const begun = await bytesBegun(graphOf([]), bin);
    const made: number[] = [];
    const told: number[] = [];
    await writeConstants(graphOf(made), bin, { onBytes: (bytes) => told.push(bytes) });
    expect(made[0]).toBeGreaterThanOrEqual(4);
    expect(made[0]! % 2).toBe(0);
    expect(begun).toBe(1024 * (made[0]! - 1) + SIZE);
    expect(told.reduce((sum, bytes) => sum + bytes)).toBe(10 * SIZE);
    expect(await readFile(bin)).toEqual(await whole());
    expect((await readdir(folder)).sort()).toEqual(["model.bin", "whole.bin"]);
  });

  it("is gone on with again and again", async () => {
    const made: number[] = [];
    for (const broken of [5, 7, 9]) await expect(writeConstants(graphOf(made, broken), bin, NOTE)).rejects.toThrow();
    await writeConstants(graphOf(made), bin, NOTE);
    expect(made.filter((index) => index === 0)).toEqual([0]);
    expect(await readFile(bin)).toEqual(await whole());
  });

  it("is removed if nothing was noted", async () => {
    await expect(writeConstants(graphOf([], 1), bin, NOTE)).rejects.toThrow();
    expect(await readdir(folder)).toEqual([]);
  });

  it("is made anew if it is shorter than the note says, or the note makes no sense", async () => {
    await expect(writeConstants(graphOf([], 7), bin, NOTE)).rejects.toThrow();
    await truncate(`${bin}.partial`, 100);
    const made: number[] = [];
    await writeConstants(graphOf(made), bin);
    expect(made).toHaveLength(10);
    for (const note of ["-1", "11", "1.5", "x", ""]) {
      await writeFile(`${bin}.partial`, new Uint8Array(20_000));
      await writeFile(`${bin}.written`, note);
      expect(await bytesBegun(graphOf([]), bin), note).toBe(0);
    }
  });

  it("ends with the reason of a signal", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const writing = writeConstants(graphOf([]), bin, {
      ...NOTE,
      signal: controller.signal,
      onBytes: () => controller.abort(reason),
    });
    await expect(writing).rejects.toBe(reason);
    expect(await readdir(folder)).toEqual([]);
  });
});

it("is as long as planned", async () => {
  expect(binBytes(graphOf([]))).toBe(9 * 1024 + SIZE);
  expect(await whole()).toHaveLength(9 * 1024 + SIZE);
});
