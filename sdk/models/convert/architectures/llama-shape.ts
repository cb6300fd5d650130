/** Sizes and variants of a decoder of the Llama family. */
export interface LlamaShape {
  width: number;
  layers: number;
  heads: number;
  /** Heads of keys and values; `heads` is a multiple of it. */
  keyValueHeads: number;
  headSize: number;
  /** Width of the inner layer of the feed-forward part. */
  inner: number;
  vocabularySize: number;
  /** Epsilon of the norms. */
  normEpsilon: number;
  rope: RotaryEmbedding;
  /** Biases of the three projections before attention (Qwen2). */
  queryKeyValueBias: boolean;
  /** Bias of the projection after attention. */
  outputBias: boolean;
  /** Biases of the feed-forward part. */
  feedForwardBias: boolean;
  /** Norms of queries and keys, head by head (Qwen3). */
  queryKeyNorm: boolean;
  /** Projections are stored joined: `qkv_proj` and `gate_up_proj` (Phi-3). */
  fused: boolean;
  /** The last layer uses the embedding's values. */
  tied: boolean;
}

/** Rotary position embedding. */
export interface RotaryEmbedding {
  /** Radians a position, one for each pair of values; rounded to f32. */
  frequencies: Float32Array;
  /** Factor of cosine and sine; 1 for most. */
  scale: number;
}
