import type { Graph } from "../graph.js";
import type { TensorSource } from "../tensor-source.js";
import type { WeightPlan } from "../weights.js";
import type { LlamaShape } from "./llama-shape.js";

/** What a decoder reads and makes. */
export interface LlamaDecoderOptions {
  /** `ids`: `input_ids` i64 `[batch, length]`. `embeddings`: `inputs_embeds` f32 `[batch, length, width]`. */
  input: "ids" | "embeddings";
  /** `logits`: `logits` f32 `[batch, length, vocabulary]`. `hidden`: `last_hidden_state` f32 `[batch, length, width]`. */
  output: "logits" | "hidden";
  weights: WeightPlan;
  /** What the names of the decoder's tensors begin with, without the dot. Defaults to `model`. */
  prefix?: string;
  /** Tensor of the last layer; where it is missing the embedding is used. Defaults to `lm_head.weight`. */
  head?: string;
}

/** Also reads `attention_mask`, `position_ids` and `beam_idx`; keys and values are its state. */
export function llamaDecoder(source: TensorSource, shape: LlamaShape, options: LlamaDecoderOptions): Graph {
  void [source, shape, options];
  throw new Error("not yet");
}
