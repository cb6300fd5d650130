import { Graph, type Value } from "../graph.js";
import { convert, gather, parameter, reshape, result, transpose } from "../operations.js";
import { doubleSize, swish, unitLength } from "../operations-vision.js";
import type { TensorSource } from "../tensor-source.js";
import { WeightConstants, type WeightPlan } from "../weights.js";
import { attentionBlock, convolution, groupNorm, middle, residualBlock, VQ, type VqShape } from "./vq-layers.js";

/**
 * Janus's picture decoder: `code_b` i64 `[batch, tokens]` (row by row), `shape` i64 `[4]` → `pixels` f32
 * `[batch, 3, size, size]`, nominally from -1 to 1.
 *
 * `shape` is `[batch, code dimension, grid, grid]` in exports from Python, where it decides the grid. Here the grid is the
 * model's own; the input is kept so that programs may treat both alike.
 *
 * @throws ModelError if tensors are missing or do not fit
 */
export function vqDecoder(source: TensorSource, shape: VqShape, plan: WeightPlan): Graph {
  const { codebookSize, codeDimension, latentChannels, gridSize } = shape;
  const graph = new Graph("gen_decoder");
  const weights = new WeightConstants(graph, source, plan);
  const ids = parameter(graph, "code_b", "i64", ["?", gridSize ** 2]);
  parameter(graph, "shape", "i64", [4]);
  const codebook = weights.tensor(`${VQ}.quantize.embedding.weight`, [codebookSize, codeDimension]);
  // Of the rows that are used, in f32: rounding the normalised table would cost 0.002 in pixels.
  const codes = unitLength(gather(codebook, convert(ids, "i32"), 0));
  const latent = transpose(reshape(codes, [0, gridSize, gridSize, codeDimension]), [0, 3, 1, 2]);
  const wide = convolution(weights, latent, `${VQ}.post_quant_conv`, {
    ...{ from: codeDimension, to: latentChannels, size: 1 },
  });
  result(decode(weights, wide, shape), "pixels");
  return graph;
}

function decode(weights: WeightConstants, latent: Value, shape: VqShape): Value {
  const { latentChannels, baseChannels, multipliers, blocks, gridSize } = shape;
  const name = `${VQ}.decoder`;
  const widths = multipliers.map((factor) => factor * baseChannels).reverse();
  let channels = widths[0]!;
  let value = convolution(weights, latent, `${name}.conv_in`, { from: latentChannels, to: channels, size: 3 });
  value = middle(weights, value, `${name}.mid`, channels, gridSize);
  widths.forEach((width, level) => {
    for (let block = 0; block <= blocks; block++) {
      value = residualBlock(weights, value, `${name}.up.${level}.block.${block}`, channels, width);
      channels = width;
      if (level === 0) value = attentionBlock(weights, value, `${name}.up.0.attn.${block}`, channels, gridSize);
    }
    if (level === widths.length - 1) return;
    const same = { from: channels, to: channels, size: 3 } as const;
    value = convolution(weights, doubleSize(value), `${name}.up.${level}.upsample.conv`, same);
  });
  const normal = swish(groupNorm(weights, value, `${name}.norm_out`, channels));
  return convolution(weights, normal, `${name}.conv_out`, { from: channels, to: 3, size: 3 });
}
