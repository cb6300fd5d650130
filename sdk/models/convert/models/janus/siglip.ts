import { Graph, type Value } from "../../ir/graph.js";
import { add, concat, dimension, gelu, integers, parameter, reshape, result, transpose } from "../../ir/operations.js";
import { convolution2d, fullAttention } from "../../ir/operations-vision.js";
import type { TensorSource } from "../../read/tensor-source.js";
import { WeightConstants, type WeightPlan } from "../../ir/weights.js";
import { aligner, layerNorm, linear, type AlignerShape } from "./vision-layers.js";

/** Sizes of a SigLIP vision tower without pooling. */
export interface SiglipShape {
  width: number;
  layers: number;
  heads: number;
  /** Width of the inner layer of the feed-forward part. */
  inner: number;
  /** Pixels along each side. */
  imageSize: number;
  /** Pixels along each side of a patch. */
  patchSize: number;
  /** Epsilon of the norms. */
  normEpsilon: number;
}

/**
 * Janus's vision tower and the aligner behind it: `pixel_values` f32 `[batch, pictures, 3, size, size]` →
 * `image_features` f32 `[batch, pictures * patches, width of the language model]`. Patches run row by row.
 *
 * In a plan of 4 bits the matrices have 8.
 *
 * @throws ModelError if tensors are missing or do not fit
 */
export function siglipGraph(
  source: TensorSource,
  { vision, aligner: sizes, weights: plan }: { vision: SiglipShape; aligner: AlignerShape; weights: WeightPlan },
): Graph {
  const graph = new Graph("vision_embeddings");
  const weights = new WeightConstants(graph, source, plan);
  const { imageSize } = vision;
  const pixels = parameter(graph, "pixel_values", "f32", ["?", "?", 3, imageSize, imageSize]);
  const pictures = reshape(pixels, [-1, 3, imageSize, imageSize]);
  const features = aligner(weights, tower(weights, pictures, vision), "model.aligner", sizes);
  const shape = concat([dimension(pixels, 0, "list"), integers(graph, [-1, sizes.width])], 0);
  const inputs = [features, shape];
  result(graph.add("Reshape", { inputs, attributes: { special_zero: false }, output: "f32" }), "image_features");
  return graph;
}

/** `[pictures, 3, size, size]` → `[pictures, patches, width]`. */
function tower(weights: WeightConstants, pictures: Value, shape: SiglipShape): Value {
  const { width, layers, imageSize, patchSize, normEpsilon } = shape;
  const name = "model.vision_model";
  const patches = (imageSize / patchSize) ** 2;
  const filters = weights.tensor(`${name}.embeddings.patch_embedding.weight`, [width, 3, patchSize, patchSize]);
  const bias = weights.tensor(`${name}.embeddings.patch_embedding.bias`, [width], [1, width, 1, 1]);
  const embedded = add(convolution2d(pictures, filters, { stride: patchSize }), bias);
  const rows = transpose(reshape(embedded, [0, width, patches]), [0, 2, 1]);
  let hidden = add(rows, weights.tensor(`${name}.embeddings.position_embedding.weight`, [patches, width]));
  for (let layer = 0; layer < layers; layer++) {
    hidden = hidden.graph.scope(`layers.${layer}`, () =>
      encoderLayer(weights, hidden, `${name}.encoder.layers.${layer}`, shape),
    );
  }
  return layerNorm(weights, hidden, `${name}.post_layernorm`, width, normEpsilon);
}

function encoderLayer(weights: WeightConstants, value: Value, name: string, shape: SiglipShape): Value {
  const { width, inner, normEpsilon } = shape;
  const normal = layerNorm(weights, value, `${name}.layer_norm1`, width, normEpsilon);
  const attended = add(value, attention(weights, normal, `${name}.self_attn`, shape));
  const second = layerNorm(weights, attended, `${name}.layer_norm2`, width, normEpsilon);
  const widened = gelu(linear(weights, second, `${name}.mlp.fc1`, { inputs: width, outputs: inner }));
  return add(attended, linear(weights, widened, `${name}.mlp.fc2`, { inputs: inner, outputs: width }));
}

function attention(weights: WeightConstants, value: Value, name: string, { width, heads }: SiglipShape): Value {
  const square = { inputs: width, outputs: width };
  const [query, key, values] = ["q_proj", "k_proj", "v_proj"].map((projection) =>
    transpose(
      reshape(linear(weights, value, `${name}.${projection}`, square), [0, 0, heads, width / heads]),
      [0, 2, 1, 3],
    ),
  ) as [Value, Value, Value];
  const attended = fullAttention(query, key, values);
  return linear(weights, reshape(transpose(attended, [0, 2, 1, 3]), [0, 0, width]), `${name}.projection_layer`, square);
}
