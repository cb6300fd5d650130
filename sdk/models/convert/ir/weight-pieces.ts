import { ModelError } from "../../../core/errors.js";
import { bytesOf } from "../read/element-type.js";
import { findNonFinite, findNonFiniteHalf, toFloat16, toFloat32 } from "../read/floats.js";
import { KERNEL_STRIDE, RoundingKernel } from "./rounding-kernel.js";
import { roundGroups, roundRows, STEPS, type RoundedGroups, type RoundedRows } from "./rounding.js";
import { rowsOf, type TensorInfo, type TensorSource } from "../read/tensor-source.js";

/** Values converted at a time: a millisecond of work, after which the event loop turns. */
const PIECE_VALUES = 262_144;

type FloatType = "f32" | "f16" | "bf16";

/** Rows of a tensor of floats along its first axis. */
export interface TensorRows {
  tensor: TensorInfo;
  firstRow: number;
  count: number;
}

/** A part of them, and where it begins: `row` counts from the first of the rows asked for. */
type Piece<Content> = Content & { row: number };

/** All rows of a tensor. */
export function allRows(tensor: TensorInfo): TensorRows {
  return { tensor, firstRow: 0, count: rowsOf(tensor.shape).rows };
}

/** One for this thread; it is used for one piece at a time, without a pause in between. */
let kernel: RoundingKernel | undefined;

/** The values rounded to f16. @throws ModelError for a value that f16 cannot hold */
export async function* halfPieces(source: TensorSource, rows: TensorRows): AsyncGenerator<Uint8Array> {
  const type = rows.tensor.type as FloatType;
  for await (const { bytes, row } of bytePieces(source, rows)) {
    let halves: Uint16Array;
    if (type === "f16") halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);
    else if (suitsKernel(bytes, type, 1)) halves = loaded(bytes, rows, row, false).halves();
    else halves = toFloat16(toFloat32(bytes, type));
    const bad = findNonFiniteHalf(halves);
    if (bad >= 0) throw notUsable(rows, row, bad, toFloat32(bytes, type)[bad]!);
    yield new Uint8Array(halves.buffer, halves.byteOffset, halves.byteLength);
  }
}

/** The values as f32. @throws ModelError for infinite and undefined ones */
export async function* floatPieces(source: TensorSource, rows: TensorRows): AsyncGenerator<Float32Array> {
  for await (const { bytes, row } of bytePieces(source, rows)) yield checkedFloats(bytes, rows, row);
}

/** The values rounded to 8 bits. @throws ModelError for infinite and undefined ones */
export async function* rowPieces(source: TensorSource, rows: TensorRows): AsyncGenerator<Piece<RoundedRows>> {
  const { rowLength } = rowsOf(rows.tensor.shape);
  for await (const { bytes, row } of bytePieces(source, rows)) {
    const rounded = suitsKernel(bytes, rows.tensor.type, rowLength)
      ? loaded(bytes, rows, row, true).rows(rowLength)
      : roundRows(checkedFloats(bytes, rows, row), rowLength);
    yield { row, ...rounded };
  }
}

/** The values rounded to 4 bits. @throws ModelError for infinite and undefined ones, and for such that no f16 scale suits */
export async function* groupPieces(
  source: TensorSource,
  rows: TensorRows,
  group: number,
): AsyncGenerator<Piece<{ packed: Uint8Array; scales: Uint16Array }>> {
  for await (const { bytes, row } of bytePieces(source, rows)) {
    const rounded: RoundedGroups = suitsKernel(bytes, rows.tensor.type, group)
      ? loaded(bytes, rows, row, true).groups(group, STEPS)
      : roundGroups(checkedFloats(bytes, rows, row), group);
    const scales = toFloat16(rounded.scales);
    const bad = findNonFiniteHalf(scales);
    if (bad >= 0) {
      const values = toFloat32(bytes, rows.tensor.type as FloatType).subarray(bad * group, (bad + 1) * group);
      const at = values.reduce((best, value, index) => (Math.abs(value) > Math.abs(values[best]!) ? index : best), 0);
      throw notUsable(rows, row, bad * group + at, values[at]!);
    }
    yield { row, packed: rounded.packed, scales };
  }
}

function suitsKernel(bytes: Uint8Array, type: TensorInfo["type"], unit: number): boolean {
  return (unit === 1 || unit % KERNEL_STRIDE === 0) && (bytes.length / bytesOf(type)) % KERNEL_STRIDE === 0;
}

/** The kernel with a piece in it. @param strict - infinite values are an error */
function loaded(bytes: Uint8Array, rows: TensorRows, row: number, strict: boolean): RoundingKernel {
  kernel ??= new RoundingKernel();
  if (!kernel.load(bytes, rows.tensor.type as FloatType) && strict) checkedFloats(bytes, rows, row);
  return kernel;
}

function checkedFloats(bytes: Uint8Array, rows: TensorRows, row: number): Float32Array {
  const values = toFloat32(bytes, rows.tensor.type as FloatType);
  const bad = findNonFinite(values);
  if (bad >= 0) throw notUsable(rows, row, bad, values[bad]!);
  return values;
}

/** The next piece is read while the one before it is in use. */
async function* bytePieces(
  source: TensorSource,
  { tensor, firstRow, count }: TensorRows,
): AsyncGenerator<Piece<{ bytes: Uint8Array }>> {
  const { rowLength } = rowsOf(tensor.shape);
  const step = Math.max(1, Math.floor(PIECE_VALUES / Math.max(1, rowLength)));
  const read = (row: number): Promise<Uint8Array> | undefined => {
    if (row >= count) return undefined;
    const reading = source.read(tensor.name, firstRow + row, Math.min(step, count - row));
    // Whoever stops early does not wait for it.
    reading.catch(() => undefined);
    return reading;
  };
  let reading = read(0);
  for (let row = 0; reading; row += step) {
    const bytes = await reading;
    reading = read(row + step);
    yield { bytes, row };
  }
}

function notUsable({ tensor, firstRow }: TensorRows, row: number, index: number, value: number): ModelError {
  const { name, file, shape } = tensor;
  const at = (firstRow + row) * rowsOf(shape).rowLength + index;
  const problem = Number.isFinite(value)
    ? "which is too large for f16; convert it with int8 weights"
    : "which no weight can be; the file is damaged, fetch it again";
  return new ModelError(`${file}: value ${at} of tensor "${name}" is ${value}, ${problem}.`, { file });
}
