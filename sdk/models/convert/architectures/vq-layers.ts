import type { Value } from "../graph.js";
import { add, reshape, transpose } from "../operations.js";
import {
  convolution2d,
  fullAttention,
  groupNormalization,
  swish,
  type ConvolutionSteps,
} from "../operations-vision.js";
import type { WeightConstants } from "../weights.js";

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
export const VQ = "model.vqmodel";

const GROUPS = 32;
const EPSILON = 1e-6;

/**
 * A convolution with bias. Its filters are f16 in every plan: whole numbers show in pictures.
 *
 * @param size - of the square filters
 */
export function convolution(
  weights: WeightConstants,
  value: Value,
  name: string,
  { from, to, size, ...steps }: { from: number; to: number; size: 1 | 3 } & ConvolutionSteps,
): Value {
  const filters = weights.tensor(`${name}.weight`, [to, from, size, size]);
  const product = convolution2d(value, filters, { padding: (size - 1) / 2, ...steps });
  return add(product, weights.tensor(`${name}.bias`, [to], [1, to, 1, 1]));
}

export function groupNorm(weights: WeightConstants, value: Value, name: string, channels: number): Value {
  const [scale, shift] = [weights.tensor(`${name}.weight`, [channels]), weights.tensor(`${name}.bias`, [channels])];
  return groupNormalization(value, scale, shift, GROUPS, EPSILON);
}

/** Two convolutions beside a way around them, which has one of its own where the number of channels changes. */
export function residualBlock(weights: WeightConstants, value: Value, name: string, from: number, to: number): Value {
  const first = swish(groupNorm(weights, value, `${name}.norm1`, from));
  const middle = convolution(weights, first, `${name}.conv1`, { from, to, size: 3 });
  const second = swish(groupNorm(weights, middle, `${name}.norm2`, to));
  const changed = convolution(weights, second, `${name}.conv2`, { from: to, to, size: 3 });
  const around = from === to ? value : convolution(weights, value, `${name}.nin_shortcut`, { from, to, size: 1 });
  return add(around, changed);
}

/** Attention among the positions of `[batch, channels, side, side]`, with one head. */
export function attentionBlock(
  weights: WeightConstants,
  value: Value,
  name: string,
  channels: number,
  side: number,
): Value {
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
export function middle(weights: WeightConstants, value: Value, name: string, channels: number, side: number): Value {
  const first = residualBlock(weights, value, `${name}.block_1`, channels, channels);
  const attended = attentionBlock(weights, first, `${name}.attn_1`, channels, side);
  return residualBlock(weights, attended, `${name}.block_2`, channels, channels);
}
