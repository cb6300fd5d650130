import type { FileHandle } from "node:fs/promises";
import { ModelError } from "../../core/errors.js";
import type { GgufValue } from "./gguf-metadata.js";

const CHUNK_BYTES = 256 * 1024;
const MAX_NESTING = 4;

const enum ValueType {
  Uint8,
  Int8,
  Uint16,
  Int16,
  Uint32,
  Int32,
  Float32,
  Bool,
  String,
  Array,
  Uint64,
  Int64,
  Float64,
}

/** Bytes of one value; for strings and arrays the least they can take. */
const MIN_BYTES = [1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8] as const;

const TYPED_ARRAYS = new Map<number, (bytes: ArrayBuffer) => GgufValue>([
  [ValueType.Uint8, (bytes) => new Uint8Array(bytes)],
  [ValueType.Int8, (bytes) => new Int8Array(bytes)],
  [ValueType.Uint16, (bytes) => new Uint16Array(bytes)],
  [ValueType.Int16, (bytes) => new Int16Array(bytes)],
  [ValueType.Uint32, (bytes) => new Uint32Array(bytes)],
  [ValueType.Int32, (bytes) => new Int32Array(bytes)],
  [ValueType.Float32, (bytes) => new Float32Array(bytes)],
  [ValueType.Float64, (bytes) => new Float64Array(bytes)],
]);

/**
 * Sequential reader of little-endian GGUF values.
 *
 * The file is read in chunks; only when a chunk is used up does a read await, so that a vocabulary of 100,000 strings
 * costs some dozens of awaits, and the event loop turns between chunks. Every length is checked against what the file
 * still has before anything is allocated: a damaged length cannot ask for gigabytes.
 */
export class GgufReader {
  readonly #handle: FileHandle;
  readonly #file: string;
  readonly #size: number;
  #buffer = Buffer.alloc(0);
  #bufferStart = 0;
  #cursor = 0;

  constructor(handle: FileHandle, file: string, size: number) {
    this.#handle = handle;
    this.#file = file;
    this.#size = size;
  }

  /** Position in the file, in bytes. */
  get position(): number {
    return this.#bufferStart + this.#cursor;
  }

  get remaining(): number {
    return this.#size - this.position;
  }

  fail(problem: string): never {
    throw new ModelError(`${this.#file}: ${problem}.`, { file: this.#file });
  }

  async bytes(length: number, what: string): Promise<Buffer> {
    if (this.#cursor + length > this.#buffer.length) await this.#fill(length, what);
    const start = this.#cursor;
    this.#cursor += length;
    return this.#buffer.subarray(start, start + length);
  }

  async uint32(what: string): Promise<number> {
    return (await this.bytes(4, what)).readUInt32LE(0);
  }

  /** A 64-bit count or length; values past 2^53 cannot be meant and are refused. */
  async length(what: string): Promise<number> {
    return this.#safe((await this.bytes(8, what)).readBigUInt64LE(0), what);
  }

  async string(what: string): Promise<string> {
    const length = await this.length(what);
    this.#mustFit(length, `${what} says it is ${length} bytes long`);
    return (await this.bytes(length, what)).toString("utf8");
  }

  async value(type: number, what: string, depth = 0): Promise<GgufValue> {
    switch (type) {
      case ValueType.Uint8:
        return (await this.bytes(1, what)).readUInt8(0);
      case ValueType.Int8:
        return (await this.bytes(1, what)).readInt8(0);
      case ValueType.Uint16:
        return (await this.bytes(2, what)).readUInt16LE(0);
      case ValueType.Int16:
        return (await this.bytes(2, what)).readInt16LE(0);
      case ValueType.Uint32:
        return this.uint32(what);
      case ValueType.Int32:
        return (await this.bytes(4, what)).readInt32LE(0);
      case ValueType.Float32:
        return (await this.bytes(4, what)).readFloatLE(0);
      case ValueType.Float64:
        return (await this.bytes(8, what)).readDoubleLE(0);
      case ValueType.Bool:
        return (await this.bytes(1, what)).readUInt8(0) !== 0;
      case ValueType.String:
        return this.string(what);
      case ValueType.Uint64:
        return narrow((await this.bytes(8, what)).readBigUInt64LE(0));
      case ValueType.Int64:
        return narrow((await this.bytes(8, what)).readBigInt64LE(0));
      case ValueType.Array:
        return this.#array(what, depth);
      default:
        return this.fail(`${what} has the unknown value type ${type}; the file is damaged or newer than this reader`);
    }
  }

  async #array(what: string, depth: number): Promise<GgufValue> {
    if (depth >= MAX_NESTING) this.fail(`${what} nests lists more than ${MAX_NESTING} deep`);
    const type = await this.uint32(what);
    const count = await this.length(what);
    const least = MIN_BYTES[type];
    if (least === undefined) this.fail(`${what} is a list of the unknown value type ${type}`);
    this.#mustFit(count * least, `${what} says it has ${count} entries`);
    const typed = TYPED_ARRAYS.get(type);
    if (typed) {
      const bytes = await this.bytes(count * least, what);
      return typed(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer);
    }
    if (type === ValueType.String) return this.#strings(count, what);
    const values: GgufValue[] = [];
    for (let index = 0; index < count; index++) values.push(await this.value(type, what, depth + 1));
    return values;
  }

  /** The hot loop of a vocabulary: awaits only where a chunk ends. */
  async #strings(count: number, what: string): Promise<string[]> {
    const values: string[] = [];
    for (let index = 0; index < count; index++) {
      if (this.#cursor + 8 > this.#buffer.length) await this.#fill(8, what);
      const low = this.#buffer.readUInt32LE(this.#cursor);
      const high = this.#buffer.readUInt32LE(this.#cursor + 4);
      const length = low + high * 2 ** 32;
      this.#cursor += 8;
      if (this.#cursor + length > this.#buffer.length) {
        this.#mustFit(length, `entry ${index} of ${what} says it is ${length} bytes long`);
        await this.#fill(length, what);
      }
      values.push(this.#buffer.toString("utf8", this.#cursor, this.#cursor + length));
      this.#cursor += length;
    }
    return values;
  }

  #safe(value: bigint, what: string): number {
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) this.fail(`${what} has the impossible length ${value}`);
    return Number(value);
  }

  #mustFit(length: number, claim: string): void {
    if (length > this.remaining) {
      this.fail(`${claim}, but only ${this.remaining} bytes are left; the file is truncated or damaged`);
    }
  }

  async #fill(length: number, what: string): Promise<void> {
    const position = this.position;
    if (position + length > this.#size) {
      this.fail(`the file ends inside ${what} (${this.#size} bytes); it is truncated, download it again`);
    }
    const kept = this.#buffer.subarray(this.#cursor);
    const wanted = Math.min(Math.max(length, CHUNK_BYTES), this.#size - position);
    const buffer = Buffer.allocUnsafe(wanted);
    kept.copy(buffer);
    let filled = kept.length;
    while (filled < wanted) {
      const { bytesRead } = await this.#handle.read(buffer, filled, wanted - filled, position + filled);
      if (bytesRead === 0) this.fail(`the file became shorter while it was read (${what})`);
      filled += bytesRead;
    }
    this.#buffer = buffer;
    this.#bufferStart = position;
    this.#cursor = 0;
  }
}

function narrow(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
