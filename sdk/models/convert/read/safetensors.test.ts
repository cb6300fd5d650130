import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ModelError, UnsupportedError } from "../../../core/errors.js";
import { floatTensor, safetensorsFile, type BuiltTensor } from "../../../testing/checkpoint-builders.js";
import { SafetensorsSource } from "./safetensors.js";

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "pergola-safetensors-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = (name: string, content: string | Buffer): Promise<void> => writeFile(join(folder, name), content);

async function failure(): Promise<Error> {
  const error: unknown = await SafetensorsSource.open(folder).then(
    (source) => source.close(),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Error);
  return error as Error;
}

const first = floatTensor("first", [3, 2], [1, 2, 3, 4, 5, 6]);
const second = floatTensor("second", [2], [7, 8]);

describe("reading", () => {
  it("gives names, shapes, types, and rows", async () => {
    const half: BuiltTensor = { name: "half", shape: [], dtype: "F16", bytes: Uint8Array.of(0, 0x3c) };
    await write("model.safetensors", safetensorsFile([first, second, half]));
    const source = await SafetensorsSource.open(folder);
    expect([...source.tensors.values()].map(({ name, shape, type }) => [name, shape, type])).toEqual([
      ["first", [3, 2], "f32"],
      ["second", [2], "f32"],
      ["half", [], "f16"],
    ]);
    expect([...new Float32Array((await source.read("first", 1, 2)).slice().buffer)]).toEqual([3, 4, 5, 6]);
    expect([...new Float32Array((await source.read("second", 1, 1)).slice().buffer)]).toEqual([8]);
    expect([...(await source.read("half", 0, 1))]).toEqual([0, 0x3c]);
    await source.close();
  });

  it("joins shards by their index", async () => {
    await write("a.safetensors", safetensorsFile([first]));
    await write("b.safetensors", safetensorsFile([second, floatTensor("unlisted", [1])]));
    const map = { first: "a.safetensors", second: "b.safetensors" };
    await write("model.safetensors.index.json", JSON.stringify({ weight_map: map }));
    const source = await SafetensorsSource.open(folder);
    expect([...source.tensors.keys()]).toEqual(["first", "second"]);
    expect([...new Float32Array((await source.read("second", 0, 2)).slice().buffer)]).toEqual([7, 8]);
    await source.close();
  });

  it("takes a file with no tensors, and empty ones", async () => {
    await write(
      "model.safetensors",
      safetensorsFile([{ name: "none", shape: [0, 4], dtype: "F32", bytes: new Uint8Array() }]),
    );
    const source = await SafetensorsSource.open(folder);
    expect(source.tensors.get("none")!.shape).toEqual([0, 4]);
    await source.close();
  });
});

describe("damaged files are told", () => {
  it("for every place at which a file can be cut off", async () => {
    const whole = safetensorsFile([first, second]);
    for (let length = 0; length < whole.length; length += length < 12 ? 1 : 7) {
      await write("model.safetensors", whole.subarray(0, length));
      const error = await failure();
      expect(error).toBeInstanceOf(ModelError);
      expect(error.message).toContain("model.safetensors");
    }
  });

  type Header = Record<string, Record<string, unknown>>;
  it.each<[string, RegExp, (header: Header) => unknown]>([
    [
      "overlapping tensors",
      /overlap/,
      (header) => ({ ...header, second: { ...header["second"], data_offsets: [20, 28] } }),
    ],
    [
      "offsets behind the end",
      /truncated/,
      (header) => ({ ...header, second: { ...header["second"], data_offsets: [1000, 1008] } }),
    ],
    ["wrong sizes", /by its shape/, (header) => ({ ...header, second: { ...header["second"], shape: [3] } })],
    [
      "backward offsets",
      /by its shape/,
      (header) => ({ ...header, second: { ...header["second"], data_offsets: [32, 24] } }),
    ],
    ["no offsets", /data_offsets/, (header) => ({ ...header, second: { ...header["second"], data_offsets: [0] } })],
    ["negative sizes", /damaged/, (header) => ({ ...header, second: { ...header["second"], shape: [-2, -1] } })],
    [
      "impossible sizes",
      /by its shape/,
      (header) => ({ ...header, second: { ...header["second"], shape: [2 ** 40, 2 ** 40] } }),
    ],
    ["a null entry", /damaged/, (header) => ({ ...header, second: null })],
    ["a list for a header", /no JSON object/, () => []],
  ])("%s", async (_, message, patch) => {
    await write("model.safetensors", safetensorsFile([first, second], patch));
    const error = await failure();
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toMatch(message);
  });

  /** The text of a header in front of data, as it stands. */
  function rawFile(header: string, data: number): Buffer {
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(Buffer.byteLength(header)));
    return Buffer.concat([length, Buffer.from(header), Buffer.alloc(data)]);
  }
  const entry = (from: number, to: number): string =>
    `{"dtype":"F32","shape":[${(to - from) / 4}],"data_offsets":[${from},${to}]}`;

  // As the reference library (safetensors 0.8) judges them.
  it.each<[string, RegExp, string, number]>([
    [
      "a hole between tensors",
      /4 bytes between "a" and tensor "b" belong to no tensor/,
      `{"a":${entry(0, 8)},"b":${entry(12, 16)}}`,
      16,
    ],
    ["a hole in front", /8 bytes between the header and tensor "a"/, `{"a":${entry(8, 16)}}`, 16],
    ["a tail", /3 bytes after "a"/, `{"a":${entry(0, 8)}}`, 11],
    ["data without tensors", /8 bytes after the header/, "{}", 8],
    [
      "a tensor twice, in two places",
      /or a tensor stands in the header twice/,
      `{"a":${entry(0, 8)},"a":${entry(8, 16)}}`,
      16,
    ],
    ["a field twice", /"shape" twice in one entry/, `{"a":{"shape":[1],${entry(0, 8).slice(1)}}`, 8],
    ["a field twice, spelled otherwise", /"shape" twice/, `{"a":{"sh\\u0061pe":[1],${entry(0, 8).slice(1)}}`, 8],
    ["a header filled up with NUL", /not valid JSON/, `{"a":${entry(0, 8)}}\0\0`, 8],
  ])("%s", async (_, message, header, data) => {
    await write("model.safetensors", rawFile(header, data));
    const error = await failure();
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toMatch(message);
  });

  it.each([
    ["equal entries of one tensor", `{"a":${entry(0, 8)},"a":${entry(0, 8)}}`],
    ["metadata with odd texts", `{"__metadata__":{"x":"\\"{}:","shape":"1"},"a":${entry(0, 8)}}`],
    ["no metadata", `{"__metadata__":null,"a":${entry(0, 8)}}`],
    ["an empty tensor in another's place", `{"a":${entry(0, 8)},"none":${entry(0, 0)},"end":${entry(8, 8)}}`],
    ["spaces around", ` {"a":${entry(0, 8)}}   `],
    ["odd names", `{"":${entry(0, 4)},"constructor":${entry(4, 8)}}`],
  ])("but not %s", async (_, header) => {
    await write("model.safetensors", rawFile(header, 8));
    await (await SafetensorsSource.open(folder)).close();
  });

  it("a header that is not JSON, or of impossible length", async () => {
    await write("model.safetensors", Buffer.concat([Buffer.from([5, 0, 0, 0, 0, 0, 0, 0]), Buffer.from("{{{{{}")]));
    expect((await failure()).message).toMatch(/not valid JSON/);
    await write("model.safetensors", Buffer.alloc(64, 0xff));
    expect((await failure()).message).toMatch(/not a safetensors file/);
    await write("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
    expect((await failure()).message).toMatch(/git lfs pull/);
  });

  it("types that no weight has", async () => {
    await write("model.safetensors", safetensorsFile([{ ...second, dtype: "F8_E4M3", bytes: new Uint8Array(2) }]));
    const error = await failure();
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error.message).toMatch(/F8_E4M3/);
  });
});

describe("an index", () => {
  const index = (map: unknown): Promise<void> =>
    write("model.safetensors.index.json", JSON.stringify({ weight_map: map }));

  it("whose shards are missing names all of them", async () => {
    await index({ first: "a.safetensors", second: "b.safetensors" });
    const error = await failure();
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toMatch(/a\.safetensors \(missing\), b\.safetensors \(missing\)/);
  });

  it("that promises a tensor which its shard does not have", async () => {
    await write("a.safetensors", safetensorsFile([first]));
    await index({ first: "a.safetensors", other: "a.safetensors" });
    expect((await failure()).message).toMatch(/no tensor "other"/);
  });

  it.each(["../a.safetensors", "/etc/passwd", "", 5, null])("that leads elsewhere (%j) is refused", async (name) => {
    await index({ first: name });
    expect(await failure()).toBeInstanceOf(ModelError);
  });

  it("without a map is told", async () => {
    await write("model.safetensors.index.json", "{}");
    expect((await failure()).message).toMatch(/weight_map/);
  });
});
