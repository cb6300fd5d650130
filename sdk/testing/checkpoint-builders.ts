/** One tensor of a file to be built. */
export interface BuiltTensor {
  name: string;
  shape: number[];
  /** Name of the type in safetensors: `F32`, `F16`, `BF16`, … */
  dtype: string;
  bytes: Uint8Array;
}

/** Bytes of a typed array as they lie in memory. */
export function bytesOfArray(values: NodeJS.TypedArray): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

/** A tensor of f32 values. */
export function floatTensor(name: string, shape: number[], values?: number[]): BuiltTensor {
  const count = shape.reduce((product, size) => product * size, 1);
  const array = Float32Array.from({ length: count }, (_, index) => values?.[index] ?? Math.sin(index + name.length));
  return { name, shape, dtype: "F32", bytes: bytesOfArray(array) };
}

/** A safetensors file. `patch` may spoil its header. */
export function safetensorsFile(
  tensors: BuiltTensor[],
  patch: (header: Record<string, Record<string, unknown>>) => unknown = (header) => header,
): Buffer {
  let offset = 0;
  const header: Record<string, Record<string, unknown>> = { __metadata__: { format: "pt" } };
  for (const { name, shape, dtype, bytes } of tensors) {
    header[name] = { dtype, shape, data_offsets: [offset, offset + bytes.length] };
    offset += bytes.length;
  }
  const text = Buffer.from(JSON.stringify(patch(header)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...tensors.map(({ bytes }) => bytes)]);
}

/** One variable of a CTranslate2 file. */
export interface BuiltVariable {
  name: string;
  shape: number[];
  /** f32 0, i8 1, i16 2, i32 3, f16 4, bf16 5. */
  type: number;
  bytes: Uint8Array;
}

export interface BuiltModelBin {
  version?: number;
  specification?: string;
  variables: BuiltVariable[];
  aliases?: [alias: string, variable: string][];
}

const SIZES = [4, 1, 2, 4, 2, 2];

/** A CTranslate2 `model.bin`. */
export function modelBin({
  version = 6,
  specification = "WhisperSpec",
  variables,
  aliases = [],
}: BuiltModelBin): Buffer {
  const parts: Uint8Array[] = [];
  const u8 = (value: number): void => void parts.push(Uint8Array.of(value));
  const u32 = (value: number): void => void parts.push(bytesOfArray(Uint32Array.of(value)));
  const text = (value: string): void => {
    parts.push(bytesOfArray(Uint16Array.of(Buffer.byteLength(value) + 1)), Buffer.from(`${value}\0`));
  };
  u32(version);
  text(specification);
  u32(3);
  u32(variables.length);
  for (const { name, shape, type, bytes } of variables) {
    text(name);
    u8(shape.length);
    shape.forEach(u32);
    const size = SIZES[type] ?? 1;
    u8(version >= 4 ? type : size);
    u32(version >= 4 ? bytes.length : bytes.length / size);
    parts.push(bytes);
  }
  if (version >= 3) {
    u32(aliases.length);
    for (const pair of aliases) pair.forEach(text);
  }
  return Buffer.concat(parts);
}
