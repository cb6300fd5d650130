import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ModelError, UnsupportedError } from "../../../core/errors.js";
import { bytesOfArray, modelBin, type BuiltModelBin } from "../../../testing/checkpoint-builders.js";
import { CTranslate2Source } from "./ctranslate2.js";

let path: string;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pergola-ct2-"));
  path = join(folder, "model.bin");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const matrix = { name: "matrix", shape: [3, 2], type: 0, bytes: bytesOfArray(Float32Array.of(1, 2, 3, 4, 5, 6)) };
const content: BuiltModelBin = {
  variables: [
    matrix,
    { name: "heads", shape: [], type: 2, bytes: bytesOfArray(Int16Array.of(12)) },
    { name: "flag", shape: [], type: 1, bytes: bytesOfArray(Int8Array.of(-1)) },
  ],
  aliases: [["copy", "matrix"]],
};

async function failure(file: Buffer): Promise<Error> {
  await writeFile(path, file);
  const error: unknown = await CTranslate2Source.open(path).then(
    (source) => source.close(),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Error);
  return error as Error;
}

describe.each([2, 3, 4, 5, 6])("version %d", (version) => {
  it("is read: variables, scalars, aliases", async () => {
    await writeFile(path, modelBin({ ...content, version }));
    const source = await CTranslate2Source.open(path);
    expect(source).toMatchObject({ specification: "WhisperSpec", binaryVersion: version });
    expect(source.tensors.get("matrix")).toMatchObject({ shape: [3, 2], type: "f32" });
    expect([...new Float32Array((await source.read("matrix", 1, 2)).slice().buffer)]).toEqual([3, 4, 5, 6]);
    expect([await source.scalar("heads"), await source.scalar("flag")]).toEqual([12, -1]);
    expect([await source.scalar("matrix"), await source.scalar("nothing")]).toEqual([undefined, undefined]);
    expect([...source.aliases]).toEqual(version >= 3 ? [["copy", "matrix"]] : []);
    await source.close();
  });

  it("is told to be truncated, wherever it is cut off", async () => {
    const whole = modelBin({ ...content, version });
    for (let length = 0; length < whole.length; length++) {
      const error = await failure(whole.subarray(0, length));
      expect(error).toBeInstanceOf(ModelError);
      expect(error.message).toContain("model.bin");
    }
  });
});

it("variables behind a large one are found", async () => {
  const large = { name: "large", shape: [500, 40], type: 1, bytes: new Uint8Array(20_000).fill(7) };
  await writeFile(path, modelBin({ variables: [large, ...content.variables] }));
  const source = await CTranslate2Source.open(path);
  expect(await source.scalar("heads")).toBe(12);
  await source.close();
});

describe("damaged files are told", () => {
  it.each<[string, RegExp, Buffer]>([
    ["another format", /not a CTranslate2 model\.bin/, Buffer.from("GGUF and something behind it")],
    ["bytes behind the end", /left behind the last entry/, Buffer.concat([modelBin(content), Buffer.alloc(3)])],
    [
      "a size that does not fit the shape",
      /shape and type make/,
      modelBin({ variables: [{ ...matrix, shape: [4, 2] }] }),
    ],
    [
      "an impossible rank",
      /dimensions/,
      modelBin({ variables: [{ ...matrix, shape: Array(200).fill(1) as number[] }] }),
    ],
    ["the same variable twice", /twice/, modelBin({ variables: [matrix, matrix] })],
    [
      "a name without an end",
      /damaged/,
      Buffer.concat([modelBin({ variables: [] }).subarray(0, 4), Buffer.from([2, 0, 65, 66])]),
    ],
  ])("%s", async (_, message, file) => {
    const error = await failure(file);
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toMatch(message);
  });

  it("a file that is missing, or a folder", async () => {
    await expect(CTranslate2Source.open(join(folder, "none.bin"))).rejects.toThrow(ModelError);
    await expect(CTranslate2Source.open(folder)).rejects.toThrow(ModelError);
  });
});

it.each([
  ["version 1", modelBin({ ...content, version: 1 })],
  ["version 7", modelBin({ ...content, version: 7 })],
  ["value type 9", modelBin({ variables: [{ ...matrix, type: 9 }] })],
])("%s is not supported", async (_, file) => expect(await failure(file)).toBeInstanceOf(UnsupportedError));
