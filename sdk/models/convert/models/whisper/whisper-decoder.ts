import { Graph, type Value } from "../../ir/graph.js";
import {
  add,
  assign,
  convert,
  dimension,
  floats,
  gather,
  integers,
  lessEqual,
  matMul,
  parameter,
  range,
  readValue,
  result,
  select,
  unsqueeze,
  type Dimension,
} from "../../ir/operations.js";
import type { TensorSource } from "../../read/tensor-source.js";
import { WeightConstants, type WeightFormat, type WeightPlan } from "../../ir/weights.js";
import { KeyValueCache } from "../common/key-value-cache.js";
import { attend, feedForward, keys, layerNorm, queries, values } from "./whisper-layers.js";
import type { WhisperShape } from "./whisper-shape.js";

/** What hides a later token; the lowest f16 value rather than infinity, as exports have it. */
const HIDDEN = -65_504;

/**
 * Whisper's decoder with its keys and values as state: `input_ids` i64 `[batch, length]`, `encoder_hidden_states` f32
 * `[batch, positions, width]`, `beam_idx` i32 `[batch]` → `logits` f32 `[batch, length, vocabulary]`.
 *
 * Each layer has four variables. Keys and values of the encoder's output are their variables' initial values, so they are
 * computed in the first step after a reset and then only read. Row `beam_idx[n]` of the decoder's own keys and values becomes
 * row `n` before the new ones are appended.
 *
 * @throws ModelError if tensors are missing or do not fit
 */
export function whisperDecoder(source: TensorSource, shape: WhisperShape, plan: WeightFormat | WeightPlan): Graph {
  const { width, vocabularySize, targetPositions, tied } = shape;
  const { layers, heads, inner } = shape.decoder;
  const sizes = { width, heads };
  const graph = new Graph("whisper_decoder");
  // What optimum-intel writes as well: the plugin's default of 8 bits is too coarse for Whisper.
  graph.runtimeOptions["KV_CACHE_PRECISION"] = "f16";
  graph.runtimeOptions["ACTIVATIONS_SCALE_FACTOR"] = "8.0";
  const weights = new WeightConstants(graph, source, plan);
  const inputIds = parameter(graph, "input_ids", "i64", ["?", "?"]);
  const encoded = parameter(graph, "encoder_hidden_states", "f32", ["?", "?", width]);
  const beams = parameter(graph, "beam_idx", "i32", ["?"]);
  const variable = (layer: number, kind: "key" | "value"): string => variableName(layer, "decoder", kind);
  const cache = new KeyValueCache(graph, inputIds, beams, { heads, headSize: width / heads, variable });

  const pastLength = dimension(cache.firstPast, 2, "scalar");
  const length = dimension(inputIds, 1, "scalar");
  const positions = range(pastLength, add(pastLength, length));
  const mask = causalMask(positions, add(pastLength, length));

  const embedding = weights.matrix("model.decoder.embed_tokens.weight", vocabularySize, width);
  const table = weights.tensor("model.decoder.embed_positions.weight", [targetPositions, width]);
  let hidden = add(gather(embedding, convert(inputIds, "i32"), 0), gather(table, convert(positions, "i32"), 0));
  for (let layer = 0; layer < layers; layer++) {
    const name = `model.decoder.layers.${layer}`;
    hidden = graph.scope(`layers.${layer}`, () => {
      const self = `${name}.self_attn`;
      const normal = layerNorm(weights, hidden, `${name}.self_attn_layer_norm`, width);
      const own = {
        query: queries(weights, normal, self, sizes),
        key: cache.append(layer, "key", keys(weights, normal, self, sizes)),
        value: cache.append(layer, "value", values(weights, normal, self, sizes)),
        mask,
      };
      const attended = add(hidden, attend(weights, own, self, { ...sizes, friendlyName: self }));
      const crossName = `${name}.encoder_attn`;
      const crossNormal = layerNorm(weights, attended, `${name}.encoder_attn_layer_norm`, width);
      const cross = {
        query: queries(weights, crossNormal, crossName, sizes),
        key: kept(keys(weights, encoded, crossName, sizes), variableName(layer, "encoder", "key"), sizes),
        value: kept(values(weights, encoded, crossName, sizes), variableName(layer, "encoder", "value"), sizes),
      };
      const listened = add(attended, attend(weights, cross, crossName, { ...sizes, friendlyName: crossName }));
      return feedForward(weights, listened, name, width, inner);
    });
  }
  const normal = layerNorm(weights, hidden, "model.decoder.layer_norm", width);
  const projection =
    tied || !weights.has("proj_out.weight") ? embedding : weights.matrix("proj_out.weight", vocabularySize, width);
  result(matMul(normal, projection), "logits");
  cache.assignAll();
  return graph;
}

/** Named as optimum-intel names them: the input and the output that the variable replaced, joined. */
function variableName(layer: number, side: "decoder" | "encoder", kind: "key" | "value"): string {
  return `past_key_values.${layer}.${side}.${kind}present.${layer}.${side}.${kind}`;
}

function stateShape({ width, heads }: { width: number; heads: number }): Dimension[] {
  return ["?", heads, "?", width / heads];
}

/** A value that is computed in the first step and kept until the state is reset. */
function kept(value: Value, variable: string, sizes: { width: number; heads: number }): Value {
  const stored = readValue(value, variable, stateShape(sizes));
  assign(stored, variable);
  return stored;
}

/** 0 where a token may look, `[1, 1, length, pastLength + length]`. */
function causalMask(positions: Value, totalLength: Value): Value {
  const { graph } = positions;
  const all = unsqueeze(range(integers(graph, 0), totalLength), [0, 1, 2]);
  const visible = lessEqual(all, unsqueeze(positions, [0, 1, 3]));
  return select(visible, floats(graph, [0], []), floats(graph, [HIDDEN], []));
}
