import { ModelError, UnsupportedError } from "../../core/errors.js";
import { bytesOf, elementCount, isFloat } from "./element-type.js";
import { findNonFinite, findNonFiniteHalf, toFloat16, toFloat32 } from "./floats.js";
import type { Graph, Value } from "./graph.js";
import { constant, convert, multiply } from "./operations.js";
import { roundRows } from "./rounding.js";
import { requireTensor, rowsOf, type TensorInfo, type TensorSource } from "./tensor-source.js";

/** How matrices are stored. Biases, norms, convolutions and position tables are never rounded to whole numbers. */
export type WeightFormat = "f16" | "int8" | "int4";

/** How the matrices of a graph are stored. */
export interface WeightPlan {
  format: WeightFormat;
  /** For `int4`: values that share a scale, along a row; -1 for the whole row. Defaults to 64. */
  groupSize?: number | undefined;
}

/** Embedding and last layer are `edge`: with `int4` they have 8 bits, since answers suffer most from errors there. */
export type MatrixRole = "inner" | "edge";

/** Values converted at a time: some milliseconds of work, after which the event loop turns. */
const PIECE_VALUES = 262_144;

/** Turns tensors of a checkpoint into constants of a graph. Values are read when the file is written. */
export class WeightConstants {
  readonly #graph: Graph;
  readonly #source: TensorSource;
  readonly #plan: WeightPlan;

  constructor(graph: Graph, source: TensorSource, plan: WeightFormat | WeightPlan) {
    this.#graph = graph;
    this.#source = source;
    this.#plan = typeof plan === "string" ? { format: plan } : plan;
  }

  has(name: string): boolean {
    return this.#source.tensors.has(name);
  }

  /**
   * A tensor in f16, computed with as f32.
   *
   * @param shape - what it must have
   * @param as - the shape in the graph, with as many values
   * @throws ModelError
   */
  tensor(name: string, shape: readonly number[], as: readonly number[] = shape): Value {
    const tensor = this.#find(name, shape);
    const stored = constant(this.#graph, "f16", as, elementCount(shape) * bytesOf("f16"), () => halves(this.#source, tensor));
    return convert(this.#graph.rename(stored, name), "f32", true);
  }

  /** A matrix with one row an output (or a token), in the format chosen. @throws ModelError */
  matrix(name: string, rows: number, columns: number, role: MatrixRole = "inner"): Value {
    void role; // int4 follows
    if (this.#plan.format === "f16") return this.tensor(name, [rows, columns]);
    const tensor = this.#find(name, [rows, columns]);
    const scales = new Float32Array(rows);
    const source = this.#source;
    const stored = constant(this.#graph, "i8", [rows, columns], rows * columns, async function* () {
      for await (const { values, firstRow } of rowPieces(source, tensor)) {
        yield new Uint8Array(roundRows(values, columns, scales, firstRow).buffer);
      }
    });
    this.#graph.rename(stored, name);
    // Written after the values above, when the scales are known.
    const factors = constant(this.#graph, "f32", [rows, 1], rows * bytesOf("f32"), async function* () {
      yield new Uint8Array(scales.buffer);
    });
    this.#graph.rename(factors, `${name}.scale`);
    return multiply(convert(stored, "f32"), factors);
  }

  #find(name: string, shape: readonly number[]): TensorInfo {
    const tensor = requireTensor(this.#source, name, shape);
    if (isFloat(tensor.type)) return tensor;
    throw new UnsupportedError(
      `${tensor.file}: tensor "${name}" holds ${tensor.type} values. Only checkpoints with float weights can be converted.`,
      { subject: `tensor type ${tensor.type}` },
    );
  }
}

async function* halves(source: TensorSource, tensor: TensorInfo): AsyncGenerator<Uint8Array> {
  for await (const { bytes, firstRow } of bytePieces(source, tensor)) {
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

async function* rowPieces(
  source: TensorSource,
  tensor: TensorInfo,
): AsyncGenerator<{ values: Float32Array; firstRow: number }> {
  for await (const { bytes, firstRow } of bytePieces(source, tensor)) {
    const values = toFloat32(bytes, tensor.type as "f32" | "f16" | "bf16");
    const bad = findNonFinite(values);
    if (bad >= 0) throw notUsable(tensor, firstRow, bad, values[bad]!);
    yield { values, firstRow };
  }
}

async function* bytePieces(
  source: TensorSource,
  { name, shape }: TensorInfo,
): AsyncGenerator<{ bytes: Uint8Array; firstRow: number }> {
  const { rows, rowLength } = rowsOf(shape);
  const step = Math.max(1, Math.floor(PIECE_VALUES / Math.max(1, rowLength)));
  for (let firstRow = 0; firstRow < rows; firstRow += step) {
    yield { bytes: await source.read(name, firstRow, Math.min(step, rows - firstRow)), firstRow };
  }
}

function notUsable({ name, file, shape }: TensorInfo, firstRow: number, index: number, value: number): ModelError {
  const at = firstRow * rowsOf(shape).rowLength + index;
  const problem = Number.isFinite(value)
    ? "which is too large for f16; convert it with int8 weights"
    : "which no weight can be; the file is damaged, fetch it again";
  return new ModelError(`${file}: value ${at} of tensor "${name}" is ${value}, ${problem}.`, { file });
}
