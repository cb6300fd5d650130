/** OpenVINO operations of image models; see `operations.ts` for those that all models use. */
import type { Value } from "./graph.js";
import { floats, integers } from "./operations.js";

/** How a two-dimensional convolution moves over its image. */
export interface ConvolutionSteps {
  /** Defaults to 1. */
  stride?: number;
  /** Zeros on all four sides, or only some: `[before, behind]` along both axes. Defaults to 0. */
  padding?: number | readonly [before: number, behind: number];
}

/** Convolution along two axes: `[batch, channels, height, width]` with filters `[outputs, channels, height, width]`. */
export function convolution2d(value: Value, filters: Value, { stride = 1, padding = 0 }: ConvolutionSteps = {}): Value {
  const [before, behind] = typeof padding === "number" ? [padding, padding] : padding;
  const attributes = {
    ...{ strides: `${stride},${stride}`, dilations: "1,1", auto_pad: "explicit" },
    ...{ pads_begin: `${before},${before}`, pads_end: `${behind},${behind}` },
  };
  return value.graph.add("Convolution", { inputs: [value, filters], attributes, output: value.type });
}

/** Mean 0 and variance 1 over each group of channels, then scale and shift of each channel. */
export function groupNormalization(value: Value, scale: Value, shift: Value, groups: number, epsilon: number): Value {
  return value.graph.add("GroupNormalization", {
    version: "opset12",
    inputs: [value, scale, shift],
    attributes: { num_groups: groups, epsilon },
    output: value.type,
  });
}

/** `x · sigmoid(x)`. */
export function swish(value: Value): Value {
  return value.graph.add("Swish", { version: "opset4", inputs: [value], output: value.type });
}

/** Each pixel of `[batch, channels, height, width]` becomes a square of four. */
export function doubleSize(value: Value): Value {
  const { graph } = value;
  return graph.add("Interpolate", {
    version: "opset11",
    inputs: [value, floats(graph, [2, 2], [2]), integers(graph, [2, 3])],
    attributes: {
      ...{ mode: "nearest", shape_calculation_mode: "scales", coordinate_transformation_mode: "asymmetric" },
      ...{ nearest_mode: "floor", antialias: false, pads_begin: "0", pads_end: "0", cube_coeff: -0.75 },
    },
    output: value.type,
  });
}

/** Attention of all positions to all, `[batch, heads, length, size]`; products are scaled by `size^-0.5`. */
export function fullAttention(query: Value, key: Value, value: Value): Value {
  return query.graph.add("ScaledDotProductAttention", {
    version: "opset13",
    inputs: [query, key, value],
    attributes: { causal: false },
    output: query.type,
  });
}

/** Vectors of length 1 along the last axis; vectors that are shorter than `smallest` are divided by it. */
export function unitLength(value: Value, smallest = 1e-12): Value {
  return value.graph.add("NormalizeL2", {
    inputs: [value, integers(value.graph, [-1])],
    attributes: { eps: smallest ** 2, eps_mode: "max" },
    output: value.type,
  });
}

/** Place of the largest value along the last axis, the first of equal ones: i64, without that axis. */
export function argMax(value: Value, length: number): Value {
  const { graph } = value;
  const reduce = (type: string, input: Value, keep: boolean): Value =>
    graph.add(type, { inputs: [input, integers(graph, [-1])], attributes: { keep_dims: keep }, output: input.type });
  const largest = graph.add("Equal", {
    inputs: [value, reduce("ReduceMax", value, true)],
    attributes: { auto_broadcast: "numpy" },
    output: "boolean",
  });
  const places = integers(
    graph,
    Array.from({ length }, (_, place) => place),
  );
  const chosen = graph.add("Select", {
    inputs: [largest, places, integers(graph, length)],
    attributes: { auto_broadcast: "numpy" },
    output: "i64",
  });
  return reduce("ReduceMin", chosen, false);
}
