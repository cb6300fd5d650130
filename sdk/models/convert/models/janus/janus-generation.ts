import { Graph } from "../../ir/graph.js";
import { convert, gather, gelu, parameter, result } from "../../ir/operations.js";
import type { TensorSource } from "../../read/tensor-source.js";
import { WeightConstants, type WeightPlan } from "../../ir/weights.js";
import { aligner, linear, type AlignerShape } from "./vision-layers.js";

/** Sizes of the parts that connect picture tokens and language model. */
export interface GenerationShape {
  /** Different picture tokens. */
  codebookSize: number;
  /** From rows of the table of picture tokens to the width of the language model. */
  aligner: AlignerShape;
}

/**
 * Embedding rows of picture tokens: `image_ids` i64 `[count]` → `image_embeds` f32 `[count, width]`. In a plan of 4 bits the
 * matrices have 8.
 *
 * @throws ModelError if tensors are missing or do not fit
 */
export function generationEmbeddings(source: TensorSource, shape: GenerationShape, plan: WeightPlan): Graph {
  const { codebookSize, aligner: sizes } = shape;
  const graph = new Graph("gen_embeddings");
  const weights = new WeightConstants(graph, source, plan);
  const ids = parameter(graph, "image_ids", "i64", ["?"]);
  // Small enough for f16 in every plan.
  const table = weights.tensor("model.generation_embeddings.weight", [codebookSize, sizes.inputs]);
  const rows = gather(table, convert(ids, "i32"), 0);
  result(aligner(weights, rows, "model.generation_aligner", sizes), "image_embeds");
  return graph;
}

/**
 * Logits of picture tokens: `x` f32 `[rows, width]`, hidden states behind the last norm → `logits` f32 `[rows, codebook]`.
 * In a plan of 4 bits the matrices have 8.
 *
 * @throws ModelError if tensors are missing or do not fit
 */
export function generationHead(source: TensorSource, shape: GenerationShape, plan: WeightPlan): Graph {
  const { codebookSize, aligner: sizes } = shape;
  const { width } = sizes;
  const graph = new Graph("gen_head");
  const weights = new WeightConstants(graph, source, plan);
  const hidden = parameter(graph, "x", "f32", ["?", width]);
  const name = "model.generation_head";
  const inner = gelu(linear(weights, hidden, `${name}.proj_out`, { inputs: width, outputs: width }));
  result(linear(weights, inner, `${name}.vision_head`, { inputs: width, outputs: codebookSize }), "logits");
  return graph;
}
