/**
 * OpenVINO operations, one function each, named after them. Versions are those in which the runtime's own exporters write
 * them; attributes are described in OpenVINO's operation specification.
 */
import { elementCount, showShape, type ElementType } from "../read/element-type.js";
import type { Graph, Value } from "./graph.js";

/** A dimension: a size, or `?` where any will do. */
export type Dimension = number | "?";

/** An input of the model. */
export function parameter(graph: Graph, name: string, type: ElementType, shape: readonly Dimension[]): Value {
  const value = graph.add("Parameter", { attributes: { shape: shape.join(","), element_type: type }, output: type });
  value.node.outputNames.push(name);
  return graph.rename(value, name);
}

/** Gives an output of the model its name. */
export function result(value: Value, name: string): void {
  value.node.outputNames.push(name);
  value.graph.addSink("Result", value, "opset1");
}

/** A small constant of whole numbers; a plain number makes a scalar. */
export function integers(graph: Graph, values: number | readonly number[], type: "i32" | "i64" = "i64"): Value {
  const list = typeof values === "number" ? [values] : values;
  const array = type === "i32" ? Int32Array.from(list) : BigInt64Array.from(list, BigInt);
  return literal(graph, type, typeof values === "number" ? [] : [list.length], array);
}

/** A small f32 constant. */
export function floats(graph: Graph, values: ArrayLike<number>, shape: readonly number[]): Value {
  return literal(graph, "f32", shape, Float32Array.from(values));
}

function literal(graph: Graph, type: ElementType, shape: readonly number[], values: NodeJS.TypedArray): Value {
  if (values.length !== elementCount(shape))
    throw new RangeError(`${values.length} values do not make ${showShape(shape)}`);
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return constant(graph, type, shape, bytes.byteLength, async function* () {
    yield bytes;
  });
}

/** A constant whose bytes are made when the file is written. @param options - `follows`: see ConstantData in graph.ts */
export function constant(
  graph: Graph,
  type: ElementType,
  shape: readonly number[],
  byteLength: number,
  pieces: () => AsyncIterable<Uint8Array>,
  { follows = false } = {},
): Value {
  // `offset` and `size` are added by the writer.
  return graph.add("Const", {
    attributes: { element_type: type, shape: shape.join(",") },
    output: type,
    data: { byteLength, pieces, follows },
  });
}

/** @param decompression - marks the step from stored to computed weights, which the runtime then fuses into kernels */
export function convert(value: Value, type: ElementType, decompression = false): Value {
  return value.graph.add("Convert", {
    inputs: [value],
    attributes: { destination_type: type },
    output: type,
    runtimeInfo: decompression ? ["decompression"] : [],
  });
}

function binary(type: string, left: Value, right: Value, output: ElementType = left.type): Value {
  return left.graph.add(type, { inputs: [left, right], attributes: { auto_broadcast: "numpy" }, output });
}

export const add = (left: Value, right: Value): Value => binary("Add", left, right);
export const subtract = (left: Value, right: Value): Value => binary("Subtract", left, right);
export const multiply = (left: Value, right: Value): Value => binary("Multiply", left, right);
export const divide = (left: Value, right: Value): Value => binary("Divide", left, right);
export const power = (base: Value, exponent: Value): Value => binary("Power", base, exponent);
export const greater = (left: Value, right: Value): Value => binary("Greater", left, right, "boolean");
export const logicalAnd = (left: Value, right: Value): Value => binary("LogicalAnd", left, right, "boolean");
export const lessEqual = (left: Value, right: Value): Value => binary("LessEqual", left, right, "boolean");

function unary(type: string, value: Value): Value {
  return value.graph.add(type, { inputs: [value], output: value.type });
}

export const squareRoot = (value: Value): Value => unary("Sqrt", value);
export const cosine = (value: Value): Value => unary("Cos", value);
export const sine = (value: Value): Value => unary("Sin", value);
export const hyperbolicTangent = (value: Value): Value => unary("Tanh", value);

/** `x · σ(x)`, also known as SiLU. */
export function swish(value: Value): Value {
  return value.graph.add("Swish", { version: "opset4", inputs: [value], output: value.type });
}

export function softmax(value: Value, axis: number): Value {
  return value.graph.add("SoftMax", { version: "opset8", inputs: [value], attributes: { axis }, output: value.type });
}

export function reduceMean(value: Value, axes: readonly number[]): Value {
  const inputs = [value, integers(value.graph, axes)];
  return value.graph.add("ReduceMean", { inputs, attributes: { keep_dims: true }, output: value.type });
}

export function select(condition: Value, whenTrue: Value, whenFalse: Value): Value {
  const inputs = [condition, whenTrue, whenFalse];
  return condition.graph.add("Select", { inputs, attributes: { auto_broadcast: "numpy" }, output: whenTrue.type });
}

/** `left · rightᵀ` by default: weights are stored with one row an output. */
export function matMul(left: Value, right: Value, { transposeB = true } = {}): Value {
  return left.graph.add("MatMul", {
    inputs: [left, right],
    attributes: { transpose_a: false, transpose_b: transposeB },
    output: left.type,
  });
}

/** In `shape`, 0 keeps a dimension and -1 takes what is left. */
export function reshape(value: Value, shape: readonly number[]): Value {
  const inputs = [value, integers(value.graph, shape)];
  return value.graph.add("Reshape", { inputs, attributes: { special_zero: true }, output: value.type });
}

export function transpose(value: Value, order: readonly number[]): Value {
  return value.graph.add("Transpose", { inputs: [value, integers(value.graph, order)], output: value.type });
}

export function unsqueeze(value: Value, axes: number | readonly number[]): Value {
  return value.graph.add("Unsqueeze", { inputs: [value, integers(value.graph, axes)], output: value.type });
}

export function concat(values: readonly [Value, ...Value[]], axis: number): Value {
  return values[0].graph.add("Concat", { inputs: values, attributes: { axis }, output: values[0].type });
}

/** What lies from `start` up to, not including, `stop` along one axis. */
export function slice(value: Value, axis: number, start: number, stop: number | "end"): Value {
  const { graph } = value;
  const last = stop === "end" ? 2 ** 31 - 1 : stop;
  const bounds = [[start], [last], [1], [axis]].map((list) => integers(graph, list));
  return graph.add("Slice", { version: "opset8", inputs: [value, ...bounds], output: value.type });
}

export function gather(values: Value, indices: Value, axis: number): Value {
  return values.graph.add("Gather", {
    version: "opset8",
    inputs: [values, indices, integers(values.graph, axis)],
    attributes: { batch_dims: 0 },
    output: values.type,
  });
}

function shapeOf(value: Value): Value {
  return value.graph.add("ShapeOf", {
    version: "opset3",
    inputs: [value],
    attributes: { output_type: "i64" },
    output: "i64",
  });
}

/** One dimension of a value's shape: as a scalar, or as a list of one. */
export function dimension(value: Value, axis: number, form: "scalar" | "list"): Value {
  return gather(shapeOf(value), integers(value.graph, form === "scalar" ? axis : [axis]), 0);
}

/** Whole numbers from `start` up to, not including, `stop`; all scalars. */
export function range(start: Value, stop: Value): Value {
  const inputs = [start, stop, integers(start.graph, 1)];
  return start.graph.add("Range", { version: "opset4", inputs, attributes: { output_type: "i64" }, output: "i64" });
}

/** @param mode - `bidirectional` also keeps what is larger than in `shape` */
export function broadcast(value: Value, shape: Value, mode: "numpy" | "bidirectional" = "numpy"): Value {
  return value.graph.add("Broadcast", {
    version: "opset3",
    inputs: [value, shape],
    attributes: { mode },
    output: value.type,
  });
}

/** Mean 0 and variance 1 along the last axis. */
export function meanVarianceNormalization(value: Value, epsilon: number): Value {
  return value.graph.add("MVN", {
    version: "opset6",
    inputs: [value, integers(value.graph, [-1])],
    attributes: { eps: epsilon, normalize_variance: true, eps_mode: "INSIDE_SQRT" },
    output: value.type,
  });
}

/** GELU: exact, by the error function, or by its approximation with the hyperbolic tangent. */
export function gelu(value: Value, form: "ERF" | "TANH" = "ERF"): Value {
  return value.graph.add("Gelu", {
    version: "opset7",
    inputs: [value],
    attributes: { approximation_mode: form },
    output: value.type,
  });
}

/** Convolution along one axis: `[batch, channels, length]`. */
export function convolution1d(
  value: Value,
  filters: Value,
  { stride, padding }: { stride: number; padding: number },
): Value {
  const attributes = { strides: stride, dilations: 1, pads_begin: padding, pads_end: padding, auto_pad: "explicit" };
  return value.graph.add("Convolution", { inputs: [value, filters], attributes, output: value.type });
}

/** @param scale - factor of the products; with 1 the queries are taken as already scaled */
export function scaledDotProductAttention(query: Value, key: Value, value: Value, mask: Value, scale: Value): Value {
  return query.graph.add("ScaledDotProductAttention", {
    version: "opset13",
    inputs: [query, key, value, mask, scale],
    attributes: { causal: false },
    output: query.type,
  });
}

/** What a variable holds; in the first step after a reset, `initial`. */
export function readValue(initial: Value, variable: string, shape: readonly Dimension[]): Value {
  return initial.graph.add("ReadValue", {
    version: "opset6",
    inputs: [initial],
    attributes: { variable_id: variable, variable_type: initial.type, variable_shape: shape.join(",") },
    output: initial.type,
  });
}

/** Sets a variable for the next step. */
export function assign(value: Value, variable: string): void {
  value.graph.addSink("Assign", value, "opset6", { variable_id: variable });
}
