import { Graph, type Value } from "../../ir/graph.js";
import { add, convert, gather, matMul, parameter, reshape, result, transpose } from "../../ir/operations.js";
import {
  argMax,
  convolution2d,
  doubleSize,
  fullAttention,
  groupNormalization,
  swish,
  unitLength,
  type ConvolutionSteps,
} from "../../ir/operations-vision.js";
import { WeightConstants, type WeightPlan } from "../../ir/weights.js";
import type { TensorSource } from "../../read/tensor-source.js";

/** Sizes of Janus's VQ autoencoder. */
export interface VqShape {
  /** Different tokens. */
  codebookSize: number;
  /** Length of an entry of the codebook. */
  codeDimension: number;
  /** Channels between codebook and convolutions. */
  latentChannels: number;
  baseChannels: number;
  /** Channels of each resolution as multiples of `baseChannels`, from the finest on. */
  multipliers: readonly number[];
  /** Residual blocks of each resolution of the encoder; the decoder has one more. */
  blocks: number;
  /** Tokens along each side of a picture. */
  gridSize: number;
}

/** What all tensors of the autoencoder begin with. */
const VQ = "model.vqmodel";

const GROUPS = 32;
const EPSILON = 1e-6;

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

/**
 * A convolution with bias. Its filters are f16 in every plan: whole numbers show in pictures.
 *
 * @param size - of the square filters
 */
function convolution(
  weights: WeightConstants,
  value: Value,
  name: string,
  { from, to, size, ...steps }: { from: number; to: number; size: 1 | 3 } & ConvolutionSteps,
): Value {
  const filters = weights.tensor(`${name}.weight`, [to, from, size, size]);
  const product = convolution2d(value, filters, { padding: (size - 1) / 2, ...steps });
  return add(product, weights.tensor(`${name}.bias`, [to], [1, to, 1, 1]));
}

function groupNorm(weights: WeightConstants, value: Value, name: string, channels: number): Value {
  const [scale, shift] = [weights.tensor(`${name}.weight`, [channels]), weights.tensor(`${name}.bias`, [channels])];
  return groupNormalization(value, scale, shift, GROUPS, EPSILON);
}

/** Two convolutions beside a way around them, which has one of its own where the number of channels changes. */
function residualBlock(weights: WeightConstants, value: Value, name: string, from: number, to: number): Value {
  const first = swish(groupNorm(weights, value, `${name}.norm1`, from));
  const middle = convolution(weights, first, `${name}.conv1`, { from, to, size: 3 });
  const second = swish(groupNorm(weights, middle, `${name}.norm2`, to));
  const changed = convolution(weights, second, `${name}.conv2`, { from: to, to, size: 3 });
  const around = from === to ? value : convolution(weights, value, `${name}.nin_shortcut`, { from, to, size: 1 });
  return add(around, changed);
}

/** Attention among the positions of `[batch, channels, side, side]`, with one head. */
function attentionBlock(weights: WeightConstants, value: Value, name: string, channels: number, side: number): Value {
  const same = { from: channels, to: channels, size: 1 } as const;
  const normal = groupNorm(weights, value, `${name}.norm`, channels);
  const [query, key, values] = ["q", "k", "v"].map((projection) => {
    const projected = convolution(weights, normal, `${name}.${projection}`, same);
    return transpose(reshape(projected, [0, 1, channels, side * side]), [0, 1, 3, 2]);
  }) as [Value, Value, Value];
  const attended = fullAttention(query, key, values);
  const joined = reshape(transpose(attended, [0, 1, 3, 2]), [0, channels, side, side]);
  return add(value, convolution(weights, joined, `${name}.proj_out`, same));
}

/** The blocks at the lowest resolution, between the way down and the way up. */
function middle(weights: WeightConstants, value: Value, name: string, channels: number, side: number): Value {
  const first = residualBlock(weights, value, `${name}.block_1`, channels, channels);
  const attended = attentionBlock(weights, first, `${name}.attn_1`, channels, side);
  return residualBlock(weights, attended, `${name}.block_2`, channels, channels);
}
