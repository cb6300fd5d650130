import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ModelError, UnsupportedError } from "../../../../core/errors.js";
import { bytesOfArray, modelBin, type BuiltVariable } from "../../../../testing/checkpoint-builders.js";
import { CTranslate2Source } from "../../read/ctranslate2.js";
import { CTranslate2WhisperSource } from "./ctranslate2-whisper.js";
import { toFloat32 } from "../../read/floats.js";
import { SafetensorsSource } from "../../read/safetensors.js";
import { rowsOf } from "../../read/tensor-source.js";

const fixture = (path: string): string =>
  fileURLToPath(new URL(`../../../../../test/fixtures/whisper/${path}`, import.meta.url));
const MODEL = fixture("ct2-tiny/model.bin");
const TYPES = { f32: 0, i8: 1, i16: 2, i32: 3, f16: 4, bf16: 5 } as Record<string, number>;

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "pergola-ct2-whisper-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

/** The variables of the fixture, to be changed. */
async function variables(): Promise<Map<string, BuiltVariable>> {
  const source = await CTranslate2Source.open(MODEL);
  const all = new Map<string, BuiltVariable>();
  for (const { name, shape, type } of source.tensors.values()) {
    const bytes = await source.read(name, 0, rowsOf(shape).rows);
    all.set(name, { name, shape: [...shape], type: TYPES[type]!, bytes });
  }
  await source.close();
  return all;
}

async function open(
  all: Map<string, BuiltVariable>,
  more: { specification?: string; aliases?: [string, string][] } = {},
): Promise<CTranslate2WhisperSource> {
  const path = join(folder, "model.bin");
  await writeFile(path, modelBin({ variables: [...all.values()], ...more }));
  return CTranslate2WhisperSource.open(path);
}

/** int8 as CTranslate2 stores it: values times 127 / largest of the row, beside the factors. */
function quantize(all: Map<string, BuiltVariable>, name: string): void {
  const { shape, bytes } = all.get(name)!;
  const values = toFloat32(bytes, "f16");
  const columns = shape[1]!;
  const scales = new Float32Array(shape[0]!);
  const rounded = Int8Array.from(values, (_, index) => {
    const row = Math.floor(index / columns);
    if (index % columns === 0) {
      const largest = Math.max(...values.subarray(index, index + columns).map(Math.abs));
      scales[row] = 127 / (largest || 127);
    }
    return Math.round(values[index]! * scales[row]!);
  });
  all.set(name, { name, shape, type: 1, bytes: bytesOfArray(rounded) });
  all.set(`${name}_scale`, { name: `${name}_scale`, shape: [shape[0]!], type: 0, bytes: bytesOfArray(scales) });
}

it("has the tensors of the Hugging Face checkpoint, bit by bit", async () => {
  const [source, reference] = [
    await CTranslate2WhisperSource.open(MODEL),
    await SafetensorsSource.open(fixture("tiny-hf")),
  ];
  expect([...source.tensors.keys()].sort()).toEqual([...reference.tensors.keys()].sort());
  for (const { name, shape } of reference.tensors.values()) {
    expect(source.tensors.get(name)!.shape, name).toEqual(shape);
    const { rows } = rowsOf(shape);
    expect(await source.read(name, 0, rows), name).toEqual(await reference.read(name, 0, rows));
    if (rows > 2) expect(await source.read(name, 1, 1), name).toEqual(await reference.read(name, 1, 1));
  }
  expect(source.facts).toEqual({ encoderLayers: 2, decoderLayers: 2, encoderHeads: 2, decoderHeads: 2 });
  await Promise.all([source.close(), reference.close()]);
});

it("gives int8 weights back as floats, with each row's own scale", async () => {
  const all = await variables();
  const names = ["decoder/embeddings/weight", "encoder/layer_1/self_attention/linear_0/weight"];
  for (const name of names) quantize(all, name);
  const source = await open(all);
  const reference = await CTranslate2WhisperSource.open(MODEL);
  for (const name of ["model.decoder.embed_tokens.weight", "model.encoder.layers.1.self_attn.v_proj.weight"]) {
    const { shape, type } = source.tensors.get(name)!;
    expect(type).toBe("f32");
    const values = toFloat32(await source.read(name, 0, shape[0]!), "f32");
    const wanted = toFloat32(await reference.read(name, 0, shape[0]!), "f16");
    const columns = shape[1]!;
    for (let row = 0; row < shape[0]!; row++) {
      const original = wanted.subarray(row * columns, (row + 1) * columns);
      const largest = Math.max(...original.map(Math.abs));
      for (let column = 0; column < columns; column++) {
        const difference = Math.abs(values[row * columns + column]! - original[column]!);
        expect(difference).toBeLessThanOrEqual((largest / 127) * 0.5001);
      }
    }
  }
  await Promise.all([source.close(), reference.close()]);
});

describe("refuses", () => {
  it("models of other kinds, by name", async () => {
    const opening = open(await variables(), { specification: "TransformerSpec" });
    await expect(opening).rejects.toThrow(ModelError);
    await expect(opening).rejects.toThrow(/TransformerSpec/);
  });

  it("missing variables", async () => {
    const all = await variables();
    all.delete("decoder/layer_1/attention/linear_2/bias");
    await expect(open(all)).rejects.toThrow(/no variable "decoder\/layer_1\/attention\/linear_2\/bias"/);
  });

  it("a missing number of heads", async () => {
    const all = await variables();
    all.delete("encoder/num_heads");
    await expect(open(all)).rejects.toThrow(/num_heads/);
  });

  it("variables that Whisper does not have", async () => {
    const all = await variables();
    all.set("decoder/adapter/weight", {
      name: "decoder/adapter/weight",
      shape: [1],
      type: 0,
      bytes: new Uint8Array(4),
    });
    const opening = open(all);
    await expect(opening).rejects.toThrow(UnsupportedError);
    await expect(opening).rejects.toThrow(/decoder\/adapter\/weight/);
  });

  it("other activations", async () => {
    const all = await variables();
    all.get("decoder/activation")!.bytes = Uint8Array.of(0);
    await expect(open(all)).rejects.toThrow(UnsupportedError);
  });

  it("an output projection of its own", async () => {
    const aliases: [string, string][] = [["decoder/projection/weight", "encoder/conv1/weight"]];
    await expect(open(await variables(), { aliases })).rejects.toThrow(UnsupportedError);
  });

  it("keys with a bias", async () => {
    const all = await variables();
    const bias = all.get("encoder/layer_0/self_attention/linear_0/bias")!;
    new Uint16Array(bias.bytes.buffer)[16 + 3] = 0x3c00;
    await expect(open(all)).rejects.toThrow(/biases for keys/);
  });

  it("int8 weights without scales, with broken ones, and int16 weights", async () => {
    const name = "encoder/layer_0/ffn/linear_0/weight";
    const all = await variables();
    quantize(all, name);
    const scale = all.get(`${name}_scale`)!;
    new Float32Array(scale.bytes.buffer)[0] = 0;
    await expect(open(all)).rejects.toThrow(ModelError);
    all.set(scale.name, { ...scale, shape: [1], bytes: new Uint8Array(4) });
    await expect(open(all)).rejects.toThrow(UnsupportedError);
    all.delete(scale.name);
    await expect(open(all)).rejects.toThrow(ModelError);
    const { shape, bytes } = all.get(name)!;
    all.set(name, { name, shape, type: 2, bytes: new Uint8Array(bytes.length * 2) });
    await expect(open(all)).rejects.toThrow(/i16/);
  });
});
