import { Graph, type Value } from "../../ir/graph.js";
import { add, convolution1d, gelu, parameter, result, transpose } from "../../ir/operations.js";
import type { TensorSource } from "../../read/tensor-source.js";
import { WeightConstants, type WeightFormat, type WeightPlan } from "../../ir/weights.js";
import { attend, feedForward, keys, layerNorm, queries, values } from "./whisper-layers.js";
import type { WhisperShape } from "./whisper-shape.js";

/**
 * Whisper's encoder: `input_features` f32 `[batch, bands, frames]` → `last_hidden_state` f32 `[batch, frames / 2, width]`.
 *
 * @throws ModelError if tensors are missing or do not fit
 */
export function whisperEncoder(source: TensorSource, shape: WhisperShape, plan: WeightFormat | WeightPlan): Graph {
  const { width, melBands, sourcePositions } = shape;
  const { layers, heads, inner } = shape.encoder;
  const graph = new Graph("whisper_encoder");
  const weights = new WeightConstants(graph, source, plan);
  const features = parameter(graph, "input_features", "f32", ["?", melBands, 2 * sourcePositions]);
  const narrowed = gelu(
    convolution(weights, features, "model.encoder.conv1", { from: melBands, to: width, stride: 1 }),
  );
  const halved = gelu(convolution(weights, narrowed, "model.encoder.conv2", { from: width, to: width, stride: 2 }));
  const positions = weights.tensor("model.encoder.embed_positions.weight", [sourcePositions, width]);
  let hidden = add(transpose(halved, [0, 2, 1]), positions);
  for (let layer = 0; layer < layers; layer++) {
    const name = `model.encoder.layers.${layer}`;
    hidden = graph.scope(`layers.${layer}`, () => {
      const attention = `${name}.self_attn`;
      const normal = layerNorm(weights, hidden, `${name}.self_attn_layer_norm`, width);
      const parts = {
        query: queries(weights, normal, attention, { width, heads }),
        key: keys(weights, normal, attention, { width, heads }),
        value: values(weights, normal, attention, { width, heads }),
      };
      const sizes = { width, heads, friendlyName: `layers.${layer}.self_attn` };
      return feedForward(weights, add(hidden, attend(weights, parts, attention, sizes)), name, width, inner);
    });
  }
  result(layerNorm(weights, hidden, "model.encoder.layer_norm", width), "last_hidden_state");
  return graph;
}

function convolution(
  weights: WeightConstants,
  value: Value,
  name: string,
  { from, to, stride }: { from: number; to: number; stride: number },
): Value {
  const product = convolution1d(value, weights.tensor(`${name}.weight`, [to, from, 3]), { stride, padding: 1 });
  return add(product, weights.tensor(`${name}.bias`, [to], [1, to, 1]));
}
