import { ModelError } from "../../core/errors.js";
import { bytesOf } from "./element-type.js";
import { findNonFinite, findNonFiniteHalf, toFloat16, toFloat32 } from "./floats.js";
import { rowsOf, type TensorInfo, type TensorSource } from "./tensor-source.js";

/** Values converted at a time: some milliseconds of work, after which the event loop turns. */
const PIECE_VALUES = 262_144;

/** Rows of a tensor along its first axis. */
export interface TensorRows {
  tensor: TensorInfo;
  firstRow: number;
  count: number;
}

/** All rows of a tensor. */
export function allRows(tensor: TensorInfo): TensorRows {
  return { tensor, firstRow: 0, count: rowsOf(tensor.shape).rows };
}

/** The values rounded to f16. @throws ModelError for a value that f16 cannot hold */
export async function* halfPieces(source: TensorSource, rows: TensorRows): AsyncGenerator<Uint8Array> {
  const { tensor } = rows;
  for await (const { bytes, firstRow } of bytePieces(source, rows)) {
    const floats = tensor.type as "f32" | "f16" | "bf16";
    const rounded = floats === "f16" ? new Uint16Array(bytes.buffer, 0, bytes.length >> 1) : toFloat16(toFloat32(bytes, floats));
    const bad = findNonFiniteHalf(rounded);
    if (bad >= 0) {
      const value = toFloat32(bytes.slice(bad * bytesOf(floats), (bad + 1) * bytesOf(floats)), floats)[0]!;
      throw notUsable(tensor, firstRow, bad, value);
    }
    yield new Uint8Array(rounded.buffer, rounded.byteOffset, rounded.byteLength);
  }
}

/** The values as f32. `row` counts from the first of the rows asked for. @throws ModelError for infinite and undefined ones */
export async function* floatPieces(
  source: TensorSource,
  rows: TensorRows,
): AsyncGenerator<{ values: Float32Array; row: number }> {
  const { tensor } = rows;
  for await (const { bytes, firstRow } of bytePieces(source, rows)) {
    const values = toFloat32(bytes, tensor.type as "f32" | "f16" | "bf16");
    const bad = findNonFinite(values);
    if (bad >= 0) throw notUsable(tensor, firstRow, bad, values[bad]!);
    yield { values, row: firstRow - rows.firstRow };
  }
}

/** The next piece is read while the one before it is in use. */
async function* bytePieces(
  source: TensorSource,
  { tensor, firstRow, count }: TensorRows,
): AsyncGenerator<{ bytes: Uint8Array; firstRow: number }> {
  const { rowLength } = rowsOf(tensor.shape);
  const step = Math.max(1, Math.floor(PIECE_VALUES / Math.max(1, rowLength)));
  const end = firstRow + count;
  const read = (row: number): Promise<Uint8Array> | undefined => {
    if (row >= end) return undefined;
    const reading = source.read(tensor.name, row, Math.min(step, end - row));
    // Whoever stops early does not wait for it.
    reading.catch(() => undefined);
    return reading;
  };
  let reading = read(firstRow);
  for (let row = firstRow; reading; row += step) {
    const bytes = await reading;
    reading = read(row + step);
    yield { bytes, firstRow: row };
  }
}

function notUsable({ name, file, shape }: TensorInfo, firstRow: number, index: number, value: number): ModelError {
  const at = firstRow * rowsOf(shape).rowLength + index;
  const problem = Number.isFinite(value)
    ? "which is too large for f16; convert it with int8 weights"
    : "which no weight can be; the file is damaged, fetch it again";
  return new ModelError(`${file}: value ${at} of tensor "${name}" is ${value}, ${problem}.`, { file });
}
