import type { Value } from "../../ir/graph.js";
import { add, gelu, matMul, meanVarianceNormalization, multiply } from "../../ir/operations.js";
import type { MatrixRole, WeightConstants } from "../../ir/weights.js";

/** `x · Wᵀ + b` along the last axis. */
export function linear(
  weights: WeightConstants,
  value: Value,
  name: string,
  { inputs, outputs, role = "edge" }: { inputs: number; outputs: number; role?: MatrixRole },
): Value {
  const product = matMul(value, weights.matrix(`${name}.weight`, outputs, inputs, role));
  return add(product, weights.tensor(`${name}.bias`, [outputs]));
}

/** Layer norm with scale and shift. */
export function layerNorm(weights: WeightConstants, value: Value, name: string, width: number, epsilon: number): Value {
  const normal = meanVarianceNormalization(value, epsilon);
  return add(multiply(normal, weights.tensor(`${name}.weight`, [width])), weights.tensor(`${name}.bias`, [width]));
}

/** Sizes of Janus's aligners, which bring rows of another width to the width of the language model. */
export interface AlignerShape {
  inputs: number;
  width: number;
  /** Linear layers; a GELU stands between each two. */
  depth: number;
}

/** `fc1`, then GELU and `hidden_layers.n` for each layer more. */
export function aligner(
  weights: WeightConstants,
  value: Value,
  name: string,
  { inputs, width, depth }: AlignerShape,
): Value {
  let rows = linear(weights, value, `${name}.fc1`, { inputs, outputs: width });
  for (let layer = 0; layer < depth - 1; layer++) {
    rows = linear(weights, gelu(rows), `${name}.hidden_layers.${layer}`, { inputs: width, outputs: width });
  }
  return rows;
}
