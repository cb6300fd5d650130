import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ModelError, UnsupportedError } from "../../../../core/errors.js";
import type { Graph } from "../../ir/graph.js";
import { SafetensorsSource } from "../../read/safetensors.js";
import type { TensorSource } from "../../read/tensor-source.js";
import { whisperDecoder } from "./whisper-decoder.js";
import { whisperEncoder } from "./whisper-encoder.js";
import { readWhisperShape, type WhisperShape } from "./whisper-shape.js";

const fixture = (path: string): string =>
  fileURLToPath(new URL(`../../../../../test/fixtures/whisper/${path}`, import.meta.url));

let source: SafetensorsSource;
let config: Record<string, unknown>;
let shape: WhisperShape;
beforeAll(async () => {
  source = await SafetensorsSource.open(fixture("tiny-hf"));
  config = JSON.parse(await readFile(fixture("tiny-hf/config.json"), "utf8")) as Record<string, unknown>;
  shape = readWhisperShape(config, "config.json");
});
afterAll(() => source.close());

/** The graph that optimum-intel exported from the same checkpoint. */
async function exported(name: string): Promise<{ xml: string; bin: Buffer }> {
  const path = fixture(`tiny-ir/${name}`);
  return { xml: await readFile(`${path}.xml`, "utf8"), bin: await readFile(`${path}.bin`) };
}

function countTypes(types: string[], wanted: string[]): Record<string, number> {
  return Object.fromEntries(wanted.map((type) => [type, types.filter((other) => other === type).length]));
}

const hash = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Half-precision matrices (and larger), as hashes of their bytes. */
async function matricesOf(graph: Graph): Promise<string[]> {
  const hashes: string[] = [];
  for (const { attributes, data } of graph.nodes) {
    if (!data || attributes["element_type"] !== "f16" || data.byteLength < 512) continue;
    const pieces: Uint8Array[] = [];
    for await (const piece of data.pieces()) pieces.push(piece);
    hashes.push(hash(Buffer.concat(pieces)));
  }
  return hashes.sort();
}

function exportedMatrices({ xml, bin }: { xml: string; bin: Buffer }): string[] {
  return [...xml.matchAll(/element_type="f16" shape="[^"]*" offset="(\d+)" size="(\d+)"/g)]
    .map(([, offset, size]) => [Number(offset), Number(size)] as const)
    .filter(([, size]) => size >= 512)
    .map(([offset, size]) => hash(bin.subarray(offset, offset + size)))
    .sort();
}

describe.each([
  ["openvino_encoder_model", whisperEncoder],
  ["openvino_decoder_model", whisperDecoder],
] as const)("%s against optimum-intel's export", (name, build) => {
  it("has the same operations that compute", async () => {
    const { xml } = await exported(name);
    const theirs = [...xml.matchAll(/<layer [^>]*type="(\w+)"/g)].map(([, type]) => type!);
    const ours = build(source, shape, "f16").nodes.map(({ type }) => type);
    const computing = [
      ...["Parameter", "Result", "ReadValue", "Assign", "ScaledDotProductAttention"],
      ...["MatMul", "Convolution", "Gelu", "MVN"],
    ];
    expect(countTypes(ours, computing)).toEqual(countTypes(theirs, computing));
  });

  it("has the same names where programs look for them", async () => {
    const { xml } = await exported(name);
    const graph = build(source, shape, "f16");
    const attention = (pattern: RegExp): string[] => [...xml.matchAll(pattern)].map(([, found]) => found!).sort();
    expect(
      graph.nodes
        .filter(({ type }) => type === "ScaledDotProductAttention")
        .map((node) => node.name)
        .sort(),
    ).toEqual(attention(/name="([^"]*)" type="ScaledDotProductAttention"/g));
    expect(graph.nodes.flatMap(({ outputNames }) => outputNames).sort()).toEqual(attention(/ names="([^"]*)"/g));
    const variables = graph.nodes.flatMap(({ type, attributes }) =>
      type === "ReadValue" ? [attributes["variable_id"]!] : [],
    );
    // The export numbers the variables of the encoder's keys and values; those of the decoder's have names.
    const named = attention(/variable_id="([^"]*)" variable_type="f32"/g);
    expect(variables.filter((id) => id.includes(".decoder.")).sort()).toEqual(named);
    expect(variables.filter((id) => id.includes(".encoder."))).toHaveLength(named.length);
  });

  it("has the same weights, bit by bit", async () => {
    expect(await matricesOf(build(source, shape, "f16"))).toEqual(exportedMatrices(await exported(name)));
  });
});

describe("int8", () => {
  it("stores matrices as whole numbers, embedding too, and nothing else", () => {
    for (const build of [whisperEncoder, whisperDecoder]) {
      const half = build(source, shape, "f16").nodes.filter(({ attributes }) => attributes["element_type"] === "f16");
      const nodes = build(source, shape, "int8").nodes;
      const matrices = half
        .filter(({ name }) => /(_proj|fc1|fc2|embed_tokens)\.weight$/.test(name))
        .map(({ name }) => name);
      expect(matrices.length).toBeGreaterThan(0);
      expect(nodes.filter(({ attributes }) => attributes["element_type"] === "i8").map(({ name }) => name)).toEqual(
        matrices,
      );
    }
  });

  it("writes scales that belong to the values", async () => {
    const { nodes } = whisperDecoder(source, shape, "int8");
    const bytesOf = async (name: string): Promise<Buffer> => {
      const pieces: Uint8Array[] = [];
      for await (const piece of nodes.find((node) => node.name === name)!.data!.pieces()) pieces.push(piece);
      return Buffer.concat(pieces);
    };
    const name = "model.decoder.layers.1.fc1.weight";
    const values = new Int8Array(Uint8Array.from(await bytesOf(name)).buffer);
    const scales = new Float32Array(Uint8Array.from(await bytesOf(`${name}.scale`)).buffer);
    const halves = new Uint16Array((await source.read(name, 0, 32)).slice().buffer);
    const { toFloat32 } = await import("../../read/floats.js");
    const wanted = toFloat32(new Uint8Array(halves.buffer), "f16");
    wanted.forEach((value, index) => {
      const scale = scales[Math.floor(index / 16)]!;
      expect(Math.abs(values[index]! * scale - value)).toBeLessThanOrEqual(scale * 0.5001);
    });
  });
});

describe("checkpoints that do not fit their configuration", () => {
  it.each([
    ["d_model", 32, /has the shape/],
    ["encoder_layers", 3, /no tensor "model\.encoder\.layers\.2\./],
    ["vocab_size", 1769, /embed_tokens.*\[1768, 16\].*\[1769, 16\]/],
    ["num_mel_bins", 128, /conv1/],
  ] as const)("%s %d", (name, value, message) => {
    const wrong = readWhisperShape({ ...config, [name]: value }, "config.json");
    const build = (): void => {
      whisperEncoder(source, wrong, "f16");
      whisperDecoder(source, wrong, "f16");
    };
    expect(build).toThrow(ModelError);
    expect(build).toThrow(message);
  });

  it.each([
    ["d_model", 0],
    ["d_model", "16"],
    ["d_model", null],
    ["decoder_layers", 1.5],
    ["decoder_attention_heads", 3],
    ["vocab_size", undefined],
    ["vocab_size", 1e300],
  ])("%s %s is no size", (name, value) => {
    expect(() => readWhisperShape({ ...config, [name]: value }, "config.json")).toThrow(ModelError);
  });

  it.each([
    ["activation_function", "relu"],
    ["scale_embedding", true],
  ])("%s %s is not supported", (name, value) => {
    expect(() => readWhisperShape({ ...config, [name]: value }, "config.json")).toThrow(UnsupportedError);
  });
});

describe("weights that cannot be converted are told when they are read", () => {
  /** The checkpoint with another last value in one tensor. */
  const spoiled = (name: string, type: "f16" | "f32" | "i32", bits: number): TensorSource => ({
    path: source.path,
    tensors: new Map(source.tensors).set(name, { ...source.tensors.get(name)!, type }),
    async read(tensor, firstRow, rowCount) {
      const bytes = await source.read(tensor, firstRow, rowCount);
      if (tensor !== name) return bytes;
      if (type === "f16") new Uint16Array(bytes.buffer).set([bits], bytes.length / 2 - 1);
      if (type === "f16") return bytes;
      const values = new Float32Array(bytes.length / 2);
      new Uint32Array(values.buffer)[values.length - 1] = bits;
      return new Uint8Array(values.buffer);
    },
    close: () => source.close(),
  });

  const name = "model.decoder.layers.0.fc1.weight";
  it.each([
    ["f16", "f16", 0x7e00, /value 511 of tensor "model\.decoder\.layers\.0\.fc1\.weight" is NaN/],
    ["f32", "f16", 0x7f800000, /is Infinity/],
    // 1e6
    ["f32", "f16", 0x49742400, /too large for f16; convert it with int8/],
    ["f16", "int8", 0xfc00, /is -Infinity/],
  ] as const)("%s as %s", async (type, format, bits, message) => {
    const reading = matrices(whisperDecoder(spoiled(name, type, bits), shape, format));
    await expect(reading).rejects.toThrow(ModelError);
    await expect(reading).rejects.toThrow(message);
  });

  it("large values can be stored in int8", async () => {
    await matrices(whisperDecoder(spoiled(name, "f32", 0x49742400), shape, "int8"));
  });

  it("whole numbers are no weights", () => {
    expect(() => whisperDecoder(spoiled(name, "i32", 0), shape, "f16")).toThrow(UnsupportedError);
  });
});

/** Reads all constants of a graph. */
async function matrices({ nodes }: Graph): Promise<void> {
  for (const { data } of nodes) {
    if (!data) continue;
    let length = 0;
    for await (const piece of data.pieces()) length += piece.length;
    expect(length).toBe(data.byteLength);
  }
}
