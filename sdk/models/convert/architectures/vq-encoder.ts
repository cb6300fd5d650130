import { Graph, type Value } from "../graph.js";
import { matMul, parameter, reshape, result, transpose } from "../operations.js";
import { argMax, swish, unitLength } from "../operations-vision.js";
import type { TensorSource } from "../tensor-source.js";
import { WeightConstants, type WeightPlan } from "../weights.js";
import { attentionBlock, convolution, groupNorm, middle, residualBlock, VQ, type VqShape } from "./vq-layers.js";

/**
 * Janus's picture encoder: `pixel_values` f32 `[batch, 3, size, size]` → `image_ids` i64 `[batch, tokens]`, row by row.
 *
 * A token is the entry of the codebook with the most similar direction (both sides are brought to length 1), as the model was
 * trained; transformers compares the raw values instead and finds other tokens.
 *
 * @throws ModelError if tensors are missing or do not fit
 */
export function vqEncoder(source: TensorSource, shape: VqShape, plan: WeightPlan): Graph {
  const { codebookSize, codeDimension, latentChannels, multipliers, gridSize } = shape;
  const graph = new Graph("gen_encoder");
  const weights = new WeightConstants(graph, source, plan);
  const size = gridSize * 2 ** (multipliers.length - 1);
  const pixels = parameter(graph, "pixel_values", "f32", ["?", 3, size, size]);
  const latent = convolution(weights, encode(weights, pixels, shape), `${VQ}.quant_conv`, {
    ...{ from: latentChannels, to: codeDimension, size: 1 },
  });
  const codes = reshape(transpose(latent, [0, 2, 3, 1]), [0, gridSize ** 2, codeDimension]);
  const codebook = weights.tensor(`${VQ}.quantize.embedding.weight`, [codebookSize, codeDimension]);
  result(argMax(matMul(unitLength(codes), unitLength(codebook)), codebookSize), "image_ids");
  return graph;
}

function encode(weights: WeightConstants, pixels: Value, shape: VqShape): Value {
  const { latentChannels, baseChannels, multipliers, blocks, gridSize } = shape;
  const name = `${VQ}.encoder`;
  const widths = multipliers.map((factor) => factor * baseChannels);
  const last = widths.length - 1;
  let channels = baseChannels;
  let value = convolution(weights, pixels, `${name}.conv_in`, { from: 3, to: channels, size: 3 });
  widths.forEach((width, level) => {
    for (let block = 0; block < blocks; block++) {
      value = residualBlock(weights, value, `${name}.down.${level}.block.${block}`, channels, width);
      channels = width;
      if (level === last) {
        value = attentionBlock(weights, value, `${name}.down.${level}.attn.${block}`, channels, gridSize);
      }
    }
    if (level === last) return;
    const halving = { from: channels, to: channels, size: 3, stride: 2, padding: [0, 1] } as const;
    value = convolution(weights, value, `${name}.down.${level}.downsample.conv`, halving);
  });
  value = middle(weights, value, `${name}.mid`, channels, gridSize);
  const normal = swish(groupNorm(weights, value, `${name}.norm_out`, channels));
  return convolution(weights, normal, `${name}.conv_out`, { from: channels, to: latentChannels, size: 3 });
}
