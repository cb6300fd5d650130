import { Graph } from "../../ir/graph.js";
import { convert, gather, matMul, parameter, result } from "../../ir/operations.js";
import type { TensorSource } from "../../read/tensor-source.js";
import { WeightConstants, type WeightPlan } from "../../ir/weights.js";

/** A matrix with one row a token. */
interface TokenMatrix {
  /** Name of the tensor. */
  tensor: string;
  vocabularySize: number;
  width: number;
  weights: WeightPlan;
}

/**
 * The embedding alone: `input` i64 `[batch, length]` → `inputs_embeds` f32 `[batch, length, width]`. In a plan of 4 bits it has 8.
 *
 * @throws ModelError if the tensor is missing or does not fit
 */
export function embeddingGraph(source: TensorSource, { tensor, vocabularySize, width, weights }: TokenMatrix): Graph {
  const graph = new Graph("text_embeddings");
  const ids = parameter(graph, "input", "i64", ["?", "?"]);
  const table = new WeightConstants(graph, source, weights).matrix(tensor, vocabularySize, width, "edge");
  result(gather(table, convert(ids, "i32"), 0), "inputs_embeds");
  return graph;
}

/**
 * The last layer alone: `input` f32 `[batch, length, width]` → `logits` f32 `[batch, length, vocabulary]`. In a plan of 4 bits
 * it has 8.
 *
 * @throws ModelError if the tensor is missing or does not fit
 */
export function headGraph(source: TensorSource, { tensor, vocabularySize, width, weights }: TokenMatrix): Graph {
  const graph = new Graph("lm_head");
  const hidden = parameter(graph, "input", "f32", ["?", "?", width]);
  const matrix = new WeightConstants(graph, source, weights).matrix(tensor, vocabularySize, width, "edge");
  result(matMul(hidden, matrix), "logits");
  return graph;
}
