import type { Value } from "../../ir/graph.js";
import {
  add,
  broadcast,
  concat,
  cosine,
  divide,
  floats,
  gelu,
  hyperbolicTangent,
  integers,
  matMul,
  multiply,
  power,
  reduceMean,
  reshape,
  scaledDotProductAttention,
  sine,
  slice,
  softmax,
  squareRoot,
  swish,
  transpose,
  unsqueeze,
  convert,
} from "../../ir/operations.js";
import type { WeightConstants } from "../../ir/weights.js";
import type { Activation, LlamaShape } from "./llama-shape.js";
import type { RotaryEmbedding } from "./rotary.js";

/**
 * `x / √(mean(x²) + ε) · w` along the last axis, in the operations in which PyTorch's exporters write it: plugins look for
 * these to fuse them.
 *
 * @param axes - of `value`
 */
export function rmsNorm(
  weights: WeightConstants,
  value: Value,
  name: string,
  { size, axes, epsilon, offset }: { size: number; axes: number; epsilon: number; offset: 0 | 1 },
): Value {
  const { graph } = value;
  const ones = Array.from({ length: axes }, () => 1);
  const constant = (number: number): Value => floats(graph, [number], ones);
  const stored = weights.vector(`${name}.weight`, size, [...ones.slice(1), size]);
  const weight = offset === 0 ? stored : add(stored, constant(offset));
  const mean = reduceMean(power(value, constant(2)), [-1]);
  const inverse = divide(constant(1), squareRoot(add(mean, constant(epsilon))));
  return multiply(weight, multiply(value, inverse));
}

/** Cosine and sine of all positions, `[batch, 1, length, 2 · pairs]`. */
export interface Rotation {
  cosine: Value;
  sine: Value;
  /** Values of a head that turn. */
  size: number;
}

/** @param positions - i64 `[batch, length]` */
export function rotation(positions: Value, { frequencies, scale }: RotaryEmbedding): Rotation {
  const { graph } = positions;
  const pairs = frequencies.length;
  const angles = matMul(floats(graph, frequencies, [1, pairs, 1]), convert(unsqueeze(positions, 1), "f32"), {
    transposeB: false,
  });
  const turned = transpose(angles, [0, 2, 1]);
  const both = concat([turned, turned], -1);
  const scaled = (value: Value): Value => (scale === 1 ? value : multiply(value, floats(graph, [scale], [1, 1, 1])));
  return {
    cosine: unsqueeze(scaled(cosine(both)), 1),
    sine: unsqueeze(scaled(sine(both)), 1),
    size: 2 * pairs,
  };
}

/** Turns the pairs (value n, value n + half) of each head: `[batch, heads, length, headSize]`. */
export function rotate(value: Value, { cosine, sine, size }: Rotation, headSize: number): Value {
  const { graph } = value;
  const turning = size === headSize ? value : slice(value, 3, 0, size);
  const half = size / 2;
  const swapped = concat(
    [multiply(slice(turning, 3, half, "end"), floats(graph, [-1], [])), slice(turning, 3, 0, half)],
    -1,
  );
  const turned = add(multiply(turning, cosine), multiply(swapped, sine));
  return size === headSize ? turned : concat([turned, slice(value, 3, size, "end")], -1);
}

/** `[batch, length, heads · headSize]` → `[batch, heads, length, headSize]`. */
export function splitHeads(value: Value, heads: number, headSize: number, between?: (heads: Value) => Value): Value {
  const split = reshape(value, [0, 0, heads, headSize]);
  return transpose(between ? between(split) : split, [0, 2, 1, 3]);
}

/** Keys or values for each head of the queries. */
function repeatHeads(value: Value, { heads, keyValueHeads, headSize }: LlamaShape): Value {
  if (heads === keyValueHeads) return value;
  const repeated = broadcast(
    unsqueeze(value, 2),
    integers(value.graph, [1, 1, heads / keyValueHeads, 1, 1]),
    "bidirectional",
  );
  return reshape(repeated, [0, heads, -1, headSize]);
}

/** Attention of all heads: `[batch, length, heads · headSize]`. */
export function attend(query: Value, key: Value, value: Value, mask: Value, shape: LlamaShape): Value {
  const { heads, headSize, attentionScale, attentionCap } = shape;
  const { graph } = query;
  const [keys, values] = [repeatHeads(key, shape), repeatHeads(value, shape)];
  const scale = floats(graph, [attentionScale], []);
  let attended: Value;
  if (attentionCap === undefined) {
    attended = scaledDotProductAttention(query, keys, values, mask, scale);
  } else {
    const products = multiply(matMul(query, keys), scale);
    attended = matMul(softmax(add(cap(products, attentionCap), mask), -1), values, { transposeB: false });
  }
  return reshape(transpose(attended, [0, 2, 1, 3]), [0, 0, heads * headSize]);
}

/** Keeps values softly between plus and minus a limit. */
export function cap(value: Value, limit: number): Value {
  const factor = floats(value.graph, [limit], []);
  return multiply(hyperbolicTangent(divide(value, factor)), factor);
}

export function activate(value: Value, activation: Activation): Value {
  return activation === "silu" ? swish(value) : gelu(value, activation === "gelu" ? "ERF" : "TANH");
}
