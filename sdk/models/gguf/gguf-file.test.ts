import { mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ModelError } from "../../core/errors.js";
import { GgufBuilder } from "../../testing/gguf-builder.js";
import { readGguf } from "./gguf-file.js";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pergola-gguf-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function write(name: string, content: Buffer | string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

async function failure(path: string): Promise<ModelError> {
  const error = await readGguf(path).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ModelError);
  return error as ModelError;
}

function small(): GgufBuilder {
  return new GgufBuilder()
    .set("general.architecture", { type: "string", value: "llama" })
    .set("llama.block_count", { type: "u32", value: 2 })
    .tensor({ name: "token_embd.weight", type: 8, dimensions: [64, 3] })
    .tensor({ name: "output_norm.weight", dimensions: [64] });
}

describe("readGguf", () => {
  it("reads every kind of value and places tensors", async () => {
    const builder = small()
      .set("negative", { type: "i32", value: -7 })
      .set("real", { type: "f32", value: 0.5 })
      .set("flag", { type: "bool", value: true })
      .set("long", { type: "u64", value: 2n ** 40n })
      .set("huge", { type: "i64", value: -(2n ** 62n) })
      .set("words", { type: "strings", value: ["", "Ġa", "漢字", "x".repeat(300_000)] })
      .set("kinds", { type: "i32s", value: [1, -2, 3] })
      .set("scores", { type: "f32s", value: [0.25, -1] });
    const content = builder.build();
    const path = await write("whole", content);
    const gguf = await readGguf(path);
    expect(gguf).toMatchObject({ version: 3, files: [path], fileSize: content.length });
    expect(gguf.metadata.get("negative")).toBe(-7);
    expect(gguf.metadata.get("real")).toBe(0.5);
    expect(gguf.metadata.boolean("flag")).toBe(true);
    expect(gguf.metadata.get("long")).toBe(2 ** 40);
    expect(gguf.metadata.get("huge")).toBe(-(2n ** 62n));
    expect(gguf.metadata.strings("words")).toEqual(["", "Ġa", "漢字", "x".repeat(300_000)]);
    expect(gguf.metadata.get("kinds")).toEqual(Int32Array.of(1, -2, 3));
    expect(Array.from(gguf.metadata.numbers("scores")!)).toEqual([0.25, -1]);
    expect(gguf.tensors).toMatchObject([
      { name: "token_embd.weight", type: 8, typeName: "Q8_0", dimensions: [64, 3], byteLength: (64 * 3 * 34) / 32 },
      { name: "output_norm.weight", type: 0, typeName: "F32", dimensions: [64], byteLength: 256 },
    ]);
    // The last tensor ends where the file ends, up to padding.
    const last = gguf.tensors[1]!;
    expect(content.length - (last.offset + last.byteLength)).toBeLessThan(32);
    expect(() => gguf.metadata.number("flag")).toThrow(/"flag" should be a number, found boolean/);
  });

  it("recognises a file that was cut off anywhere", async () => {
    const content = small().build();
    for (let length = 0; length < content.length; length += 7) {
      const path = await write("cut.gguf", content.subarray(0, length));
      const error = await failure(path);
      expect(error.file).toBe(path);
      expect(error.message).toMatch(/truncated|empty|do not fit/);
    }
  });

  it("says what is wrong with files that are something else", async () => {
    const content = small().build();
    const changed = (at: number, bytes: number[]): Buffer => {
      const copy = Buffer.from(content);
      copy.set(bytes, at);
      return copy;
    };
    expect((await failure(await write("a", "PK\u0003\u0004rest"))).message).toContain("not a GGUF file");
    expect((await failure(await write("b", "version https://git-lfs.github.com/spec/v1"))).message).toContain(
      "Git LFS",
    );
    expect((await failure(await write("c", "<!DOCTYPE html>"))).message).toContain("web page");
    expect((await failure(await write("d", changed(4, [1, 0, 0, 0])))).message).toContain("version 1");
    expect((await failure(await write("e", changed(4, [9, 0, 0, 0])))).message).toContain("version 9");
    expect((await failure(await write("f", changed(4, [0, 0, 0, 3])))).message).toContain("big-endian");
    expect((await failure(join(folder, "nowhere.gguf"))).message).toContain("nowhere.gguf");
    expect((await failure(folder)).message).toContain("not a file");
  });

  it("does not believe absurd lengths", async () => {
    const content = small().build();
    const absurd = Buffer.from("ffffffffffffff7f", "hex");
    // Tensor count, key count, length of the first key, length of its value.
    for (const at of [8, 16, 24, 24 + 8 + "general.architecture".length + 4]) {
      const copy = Buffer.from(content);
      absurd.copy(copy, at);
      expect((await failure(await write("absurd.gguf", copy))).message).toMatch(/impossible|do not fit|bytes are left/);
      copy.set([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0], at);
      expect((await failure(await write("absurd.gguf", copy))).message).toMatch(/do not fit|bytes are left/);
    }
  });

  it("names the tensor whose rows do not fit its type, and keeps unknown types", async () => {
    const odd = new GgufBuilder().tensor({ name: "w", type: 12, dimensions: [576, 2] });
    expect((await failure(await write("odd.gguf", odd.build()))).message).toMatch(/"w".*576.*256.*Q4_K/);
    const unknown = new GgufBuilder().tensor({ name: "w", type: 99, dimensions: [8] });
    const gguf = await readGguf(await write("unknown.gguf", unknown.build()));
    expect(gguf.tensors[0]).toMatchObject({ type: 99, typeName: "type 99", byteLength: 0 });
  });
});

describe("split models", () => {
  const shard = (index: number, count: number): GgufBuilder => {
    const builder = new GgufBuilder()
      .set("split.no", { type: "u32", value: index })
      .set("split.count", { type: "u32", value: count })
      .set("split.tensors.count", { type: "i32", value: count });
    if (index === 0) builder.set("general.name", { type: "string", value: "whole" });
    return builder.tensor({ name: `t${index}`, dimensions: [8] });
  };
  const name = (index: number, count: number): string =>
    `m-${String(index + 1).padStart(5, "0")}-of-${String(count).padStart(5, "0")}.gguf`;

  async function writeShards(count: number): Promise<string[]> {
    return Promise.all(Array.from({ length: count }, (_, i) => write(name(i, count), shard(i, count).build())));
  }

  it("finds all shards from any of them", async () => {
    const paths = await writeShards(3);
    for (const path of paths) {
      const gguf = await readGguf(path);
      expect(gguf.files).toEqual(paths);
      expect(gguf.metadata.string("general.name")).toBe("whole");
      expect(gguf.tensors.map((tensor) => [tensor.name, tensor.file])).toEqual([
        ["t0", 0],
        ["t1", 1],
        ["t2", 2],
      ]);
    }
  });

  it("names the shard that is missing, swapped or foreign", async () => {
    const paths = await writeShards(3);
    await rename(paths[1]!, `${paths[1]}.part`);
    expect((await failure(paths[0]!)).file).toBe(paths[1]);
    await writeFile(paths[1]!, shard(2, 3).build());
    expect((await failure(paths[0]!)).message).toMatch(/named as part 2, but the file says it is part 3/);
    await writeFile(paths[1]!, small().build());
    expect((await failure(paths[0]!)).message).toMatch(/one of 3 parts, but the file says it is whole/);
  });

  it("takes -00001-of-00001 as a whole file", async () => {
    const path = await write(name(0, 1), small().build());
    expect((await readGguf(path)).files).toEqual([path]);
  });

  it("reads links into a cache of blobs, and asks for the name where a blob is a shard", async () => {
    const blobs = await Promise.all([0, 1].map((i) => write(`blob${i}`, shard(i, 2).build())));
    await Promise.all(blobs.map((blob, i) => symlink(blob, join(folder, name(i, 2)))));
    expect((await readGguf(join(folder, name(1, 2)))).tensors).toHaveLength(2);
    expect((await failure(blobs[0]!)).message).toContain("-00001-of-00002.gguf");
  });
});
