import { UnsupportedError } from "../../../core/errors.js";
import type { WeightFormat } from "../../../core/weight-options.js";
import { bytesOf, elementCount, isFloat } from "../read/element-type.js";
import type { Graph, Value } from "./graph.js";
import { constant, convert, multiply, reshape } from "./operations.js";
import { requireTensor, type TensorInfo, type TensorSource } from "../read/tensor-source.js";
import { allRows, floatPieces, groupPieces, halfPieces, rowPieces, type TensorRows } from "./weight-pieces.js";

export type { WeightFormat };

/** How the matrices of a graph are stored. Biases, norms, convolutions and position tables are never rounded to whole numbers. */
export interface WeightPlan {
  format: WeightFormat;
  /** For `int4`: values that share a scale, along a row; -1 for the whole row. Defaults to 64. */
  groupSize?: number | undefined;
}

/** Embedding and last layer are `edge`: with `int4` they have 8 bits, since answers suffer most from errors there. */
export type MatrixRole = "inner" | "edge";

/** Of `int4`; what most published models have. */
export const DEFAULT_GROUP_SIZE = 64;

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
    return this.#halves(allRows(this.#find(name, shape)), name, as);
  }

  /**
   * A small tensor of one axis, such as a bias or a norm's weights, with every bit that the checkpoint has.
   *
   * @param as - the shape in the graph
   * @throws ModelError
   */
  vector(name: string, size: number, as: readonly number[]): Value {
    const tensor = this.#find(name, [size]);
    const source = this.#source;
    if (tensor.type === "f16") return this.#halves(allRows(tensor), name, as);
    const stored = constant(this.#graph, "f32", as, size * bytesOf("f32"), async function* () {
      for await (const values of floatPieces(source, allRows(tensor))) yield bytesOfArray(values);
    });
    return this.#graph.rename(stored, name);
  }

  /**
   * A matrix with one row an output (or a token), in the format chosen.
   *
   * @throws ModelError
   */
  matrix(name: string, rows: number, columns: number, role: MatrixRole = "inner"): Value {
    return this.#matrix(allRows(this.#find(name, [rows, columns])), name, role);
  }

  /**
   * Some rows of a matrix that holds several, joined.
   *
   * @param part - `rows` and `columns` of the whole, and which rows to take
   * @throws ModelError
   */
  matrixRows(name: string, part: { rows: number; columns: number; firstRow: number; count: number }): Value {
    const tensor = this.#find(name, [part.rows, part.columns]);
    return this.#matrix({ tensor, firstRow: part.firstRow, count: part.count }, `${name}.${part.firstRow}`, "inner");
  }

  #matrix(rows: TensorRows, name: string, role: MatrixRole): Value {
    const columns = rows.tensor.shape[1]!;
    const { format, groupSize = DEFAULT_GROUP_SIZE } = this.#plan;
    if (format === "f16") return this.#halves(rows, name, [rows.count, columns]);
    const group = groupSize === -1 ? columns : groupSize;
    // A matrix whose rows are no whole number of groups has 8 bits: there are few, in small models.
    const fits = columns % group === 0 && group % 2 === 0;
    return format === "int4" && role === "inner" && fits ? this.#int4(rows, name, group) : this.#int8(rows, name);
  }

  #halves(rows: TensorRows, name: string, as: readonly number[]): Value {
    const stored = constant(this.#graph, "f16", as, elementCount(as) * bytesOf("f16"), () =>
      halfPieces(this.#source, rows),
    );
    return convert(this.#graph.rename(stored, name), "f32", true);
  }

  /** Symmetric, with one scale a row. */
  #int8(rows: TensorRows, name: string): Value {
    const { count } = rows;
    const columns = rows.tensor.shape[1]!;
    const scales = new Scales(() => new Float32Array(count));
    const source = this.#source;
    const stored = constant(this.#graph, "i8", [count, columns], count * columns, async function* () {
      for await (const piece of rowPieces(source, rows)) {
        scales.values.set(piece.scales, piece.row);
        yield bytesOfArray(piece.rounded);
      }
    });
    this.#graph.rename(stored, name);
    // Written after the values above, when the scales are known.
    const factors = constant(this.#graph, "f32", [count, 1], count * bytesOf("f32"), () => scales.take(), {
      follows: true,
    });
    this.#graph.rename(factors, `${name}.scale`);
    return multiply(convert(stored, "f32"), factors);
  }

  /** Symmetric, with one scale a group; in the operations in which NNCF writes it. */
  #int4(rows: TensorRows, name: string, group: number): Value {
    const { count } = rows;
    const columns = rows.tensor.shape[1]!;
    const groups = columns / group;
    const scales = new Scales(() => new Uint16Array(count * groups));
    const source = this.#source;
    const stored = constant(this.#graph, "i4", [count, groups, group], (count * columns) / 2, async function* () {
      for await (const piece of groupPieces(source, rows, group)) {
        scales.values.set(piece.scales, piece.row * groups);
        yield piece.packed;
      }
    });
    this.#graph.rename(stored, name);
    const factors = constant(
      this.#graph,
      "f16",
      [count, groups, 1],
      count * groups * bytesOf("f16"),
      () => scales.take(),
      { follows: true },
    );
    this.#graph.rename(factors, `${name}.scale`);
    return convert(reshape(multiply(convert(stored, "f16"), factors), [count, columns]), "f32");
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

/** Scales of a matrix from its rounding until they are written: those of a whole model would take much memory. */
class Scales<Values extends Float32Array | Uint16Array> {
  readonly #make: () => Values;
  #values: Values | undefined;

  constructor(make: () => Values) {
    this.#make = make;
  }

  get values(): Values {
    return (this.#values ??= this.#make());
  }

  async *take(): AsyncGenerator<Uint8Array> {
    yield bytesOfArray(this.values);
    this.#values = undefined;
  }
}

function bytesOfArray(values: NodeJS.TypedArray): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
