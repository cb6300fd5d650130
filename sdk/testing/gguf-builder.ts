import { ggmlType } from "../models/gguf/gguf-types.js";

/** A metadata value with its GGUF type. */
export type GgufEntry =
  | { type: "u32" | "i32" | "f32" | "u64" | "i64"; value: number | bigint }
  | { type: "bool"; value: boolean }
  | { type: "string"; value: string }
  | { type: "strings"; value: readonly string[] }
  | { type: "i32s" | "f32s"; value: ArrayLike<number> };

export interface GgufTensorSpec {
  name: string;
  /** ggml's number; F32 where it is left out. */
  type?: number;
  dimensions: number[];
}

/** Writes GGUF files for tests: header, metadata, tensor descriptions and zeros for the tensors' data. */
export class GgufBuilder {
  readonly #metadata = new Map<string, GgufEntry>();
  readonly #tensors: GgufTensorSpec[] = [];
  version = 3;
  alignment = 32;

  set(key: string, entry: GgufEntry): this {
    this.#metadata.set(key, entry);
    return this;
  }

  tensor(spec: GgufTensorSpec): this {
    this.#tensors.push(spec);
    return this;
  }

  build(): Buffer {
    const parts = [Buffer.from("GGUF"), u32(this.version), u64(this.#tensors.length), u64(this.#metadata.size)];
    for (const [key, entry] of this.#metadata) parts.push(text(key), ...value(entry));
    let offset = 0;
    for (const { name, type = 0, dimensions } of this.#tensors) {
      parts.push(text(name), u32(dimensions.length), ...dimensions.map(u64), u32(type), u64(offset));
      offset += align(dataBytes(type, dimensions), this.alignment);
    }
    const header = Buffer.concat(parts);
    return Buffer.concat([header, Buffer.alloc(align(header.length, this.alignment) - header.length + offset)]);
  }
}

function dataBytes(type: number, dimensions: number[]): number {
  const { blockSize, blockBytes } = ggmlType(type) ?? { blockSize: 1, blockBytes: 0 };
  return (dimensions.reduce((product, size) => product * size, 1) / blockSize) * blockBytes;
}

function value(entry: GgufEntry): Buffer[] {
  switch (entry.type) {
    case "u32":
      return [u32(4), u32(Number(entry.value))];
    case "i32":
      return [u32(5), i32(Number(entry.value))];
    case "f32":
      return [u32(6), f32(Number(entry.value))];
    case "bool":
      return [u32(7), Buffer.of(entry.value ? 1 : 0)];
    case "string":
      return [u32(8), text(entry.value)];
    case "u64":
      return [u32(10), u64(entry.value)];
    case "i64": {
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64LE(BigInt(entry.value));
      return [u32(11), bytes];
    }
    case "strings":
      return [u32(9), u32(8), u64(entry.value.length), ...entry.value.map(text)];
    case "i32s":
      return [u32(9), u32(5), u64(entry.value.length), ...Array.from(entry.value, i32)];
    case "f32s":
      return [u32(9), u32(6), u64(entry.value.length), ...Array.from(entry.value, f32)];
  }
}

function u32(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(number);
  return bytes;
}

function i32(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(number);
  return bytes;
}

function f32(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(number);
  return bytes;
}

function u64(number: number | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(number));
  return bytes;
}

function text(string: string): Buffer {
  const bytes = Buffer.from(string, "utf8");
  return Buffer.concat([u64(bytes.length), bytes]);
}

function align(size: number, alignment: number): number {
  return Math.ceil(size / alignment) * alignment;
}
