import type { Value } from "../../ir/graph.js";
import {
  add,
  floats,
  gelu,
  matMul,
  meanVarianceNormalization,
  multiply,
  reshape,
  scaledDotProductAttention,
  transpose,
} from "../../ir/operations.js";
import type { WeightConstants } from "../../ir/weights.js";

const NORM_EPSILON = 1e-5;

/** Sizes that the parts of a layer share. */
interface LayerSizes {
  width: number;
  heads: number;
}

/** `x · Wᵀ + b`. */
function linear(
  weights: WeightConstants,
  value: Value,
  name: string,
  { inputs, outputs, bias = true }: { inputs: number; outputs: number; bias?: boolean },
): Value {
  const product = matMul(value, weights.matrix(`${name}.weight`, outputs, inputs));
  return bias ? add(product, weights.tensor(`${name}.bias`, [outputs], [1, 1, outputs])) : product;
}

export function layerNorm(weights: WeightConstants, value: Value, name: string, width: number): Value {
  const normal = meanVarianceNormalization(value, NORM_EPSILON);
  const scaled = multiply(normal, weights.tensor(`${name}.weight`, [width], [1, 1, width]));
  return add(scaled, weights.tensor(`${name}.bias`, [width], [1, 1, width]));
}

/** `[batch, length, width]` → `[batch, heads, length, width / heads]`. */
function splitHeads(value: Value, { width, heads }: LayerSizes): Value {
  return transpose(reshape(value, [0, 0, heads, width / heads]), [0, 2, 1, 3]);
}

/** Scaled here, so that attention needs no factor of its own: what reads the queries finds them as the products need them. */
export function queries(weights: WeightConstants, value: Value, name: string, sizes: LayerSizes): Value {
  const { width, heads } = sizes;
  const projected = linear(weights, value, `${name}.q_proj`, { inputs: width, outputs: width });
  const scale = floats(value.graph, [(width / heads) ** -0.5], [1, 1, 1]);
  return splitHeads(multiply(projected, scale), sizes);
}

/** Whisper's keys have no bias. */
export function keys(weights: WeightConstants, value: Value, name: string, sizes: LayerSizes): Value {
  const { width } = sizes;
  return splitHeads(linear(weights, value, `${name}.k_proj`, { inputs: width, outputs: width, bias: false }), sizes);
}

export function values(weights: WeightConstants, value: Value, name: string, sizes: LayerSizes): Value {
  const { width } = sizes;
  return splitHeads(linear(weights, value, `${name}.v_proj`, { inputs: width, outputs: width }), sizes);
}

/** Attention itself and the projection behind it. */
export function attend(
  weights: WeightConstants,
  parts: { query: Value; key: Value; value: Value; mask?: Value },
  name: string,
  { width, friendlyName }: LayerSizes & { friendlyName: string },
): Value {
  const { graph } = parts.query;
  const mask = parts.mask ?? floats(graph, [0], []);
  const attention = scaledDotProductAttention(parts.query, parts.key, parts.value, mask, floats(graph, [1], []));
  // Programs that compute word times look for this name, which is what exports from PyTorch have.
  graph.rename(attention, `__module.${friendlyName}/aten::scaled_dot_product_attention/ScaledDotProductAttention`);
  const joined = reshape(transpose(attention, [0, 2, 1, 3]), [0, 0, width]);
  return linear(weights, joined, `${name}.out_proj`, { inputs: width, outputs: width });
}

/** The feed-forward part, with its norm and residual. */
export function feedForward(weights: WeightConstants, value: Value, name: string, width: number, inner: number): Value {
  const normal = layerNorm(weights, value, `${name}.final_layer_norm`, width);
  const hidden = gelu(linear(weights, normal, `${name}.fc1`, { inputs: width, outputs: inner }));
  return add(value, linear(weights, hidden, `${name}.fc2`, { inputs: inner, outputs: width }));
}
