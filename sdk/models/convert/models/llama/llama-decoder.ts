import { ModelError } from "../../../../core/errors.js";
import { Graph, type Value } from "../../ir/graph.js";
import {
  add,
  convert,
  dimension,
  floats,
  gather,
  greater,
  integers,
  lessEqual,
  logicalAnd,
  matMul,
  multiply,
  parameter,
  range,
  result,
  select,
  subtract,
  unsqueeze,
} from "../../ir/operations.js";
import type { TensorSource } from "../../read/tensor-source.js";
import { WeightConstants, type WeightPlan } from "../../ir/weights.js";
import { KeyValueCache } from "../common/key-value-cache.js";
import { activate, attend, cap, rmsNorm, rotate, rotation, splitHeads, type Rotation } from "./llama-layers.js";
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
  /** Tensor of the last layer. Defaults to `lm_head.weight`. */
  head?: string;
}

/** What hides a token from another one: the lowest half-precision value, as exporters from PyTorch write it. */
const HIDDEN = -65_504;

/**
 * A decoder of the Llama family with its keys and values as state. Besides its tokens it reads `attention_mask` i64
 * `[batch, past + length]`, `position_ids` i64 `[batch, length]` and `beam_idx` i32 `[batch]`: row `beam_idx[n]` of the keys and
 * values becomes row `n` before the new ones are appended. All of it is written as optimum-intel writes it, so that the
 * runtime finds what it turns into paged attention and fuses into kernels.
 *
 * @throws ModelError if tensors are missing or do not fit
 */
export function llamaDecoder(source: TensorSource, shape: LlamaShape, options: LlamaDecoderOptions): Graph {
  const { input, output, weights: plan, prefix = "model", head = "lm_head.weight" } = options;
  const { width, vocabularySize } = shape;
  const graph = new Graph("language_model");
  // What optimum-intel writes for weights that are not rounded: 8 bits for keys and values would then be the coarsest part.
  if (plan.format === "f16") graph.runtimeOptions["KV_CACHE_PRECISION"] = "f16";
  graph.runtimeOptions["ACTIVATIONS_SCALE_FACTOR"] = "8.0";
  const weights = new WeightConstants(graph, source, plan);
  if (weights.has(`${prefix}.layers.${shape.layers}.input_layernorm.weight`)) {
    throw new ModelError(
      `${source.path} has more layers than config.json says (${shape.layers}). The files do not belong together.`,
      { file: source.path },
    );
  }
  const tokens =
    input === "ids"
      ? parameter(graph, "input_ids", "i64", ["?", "?"])
      : parameter(graph, "inputs_embeds", "f32", ["?", "?", width]);
  const visible = parameter(graph, "attention_mask", "i64", ["?", "?"]);
  const positions = parameter(graph, "position_ids", "i64", ["?", "?"]);
  const beams = parameter(graph, "beam_idx", "i32", ["?"]);
  const table = `${prefix}.embed_tokens.weight`;
  const tied = shape.tied ?? !weights.has(head);
  const embedding =
    input === "ids" || (output === "logits" && tied) ? weights.matrix(table, vocabularySize, width, "edge") : undefined;

  let hidden = input === "ids" ? gather(embedding!, convert(tokens, "i32"), 0) : tokens;
  if (shape.embeddingScale !== 1) hidden = multiply(hidden, floats(graph, [shape.embeddingScale], [1, 1, 1]));
  const cache = new KeyValueCache(graph, tokens, beams, { heads: shape.keyValueHeads, headSize: shape.headSize });
  const layer = new DecoderLayer(
    weights,
    shape,
    cache,
    new Masks(cache, tokens, visible),
    rotation(positions, shape.rope),
  );
  for (let index = 0; index < shape.layers; index++) {
    hidden = graph.scope(`layers.${index}`, () => layer.build(hidden, index, `${prefix}.layers.${index}`));
  }
  const normal = rmsNorm(weights, hidden, `${prefix}.norm`, layer.norm);
  if (output === "hidden") {
    result(normal, "last_hidden_state");
  } else {
    const logits = matMul(normal, tied ? embedding! : weights.matrix(head, vocabularySize, width, "edge"));
    result(shape.logitCap === undefined ? logits : cap(logits, shape.logitCap), "logits");
  }
  cache.assignAll();
  return graph;
}

/** Which tokens see which, by window size; each made once. */
class Masks {
  readonly #cache: KeyValueCache;
  readonly #tokens: Value;
  readonly #visible: Value;
  readonly #made = new Map<number | undefined, Value>();
  #parts: { keys: Value; queries: Value; allowed: Value } | undefined;

  constructor(cache: KeyValueCache, tokens: Value, visible: Value) {
    this.#cache = cache;
    this.#tokens = tokens;
    this.#visible = visible;
  }

  /** 0 where a token may look, `[batch, 1, length, past + length]`. */
  of(window: number | undefined): Value {
    const known = this.#made.get(window);
    if (known) return known;
    const { graph } = this.#tokens;
    this.#parts ??= this.#common();
    const { keys, queries, allowed } = this.#parts;
    const within =
      window === undefined ? allowed : logicalAnd(greater(keys, subtract(queries, integers(graph, window))), allowed);
    const mask = select(within, floats(graph, [0], []), floats(graph, [HIDDEN], []));
    this.#made.set(window, mask);
    return mask;
  }

  #common(): { keys: Value; queries: Value; allowed: Value } {
    const { graph } = this.#tokens;
    const past = dimension(this.#cache.firstPast, 2, "scalar");
    const total = add(past, dimension(this.#tokens, 1, "scalar"));
    const keys = unsqueeze(range(integers(graph, 0), total), [0, 1, 2]);
    const queries = unsqueeze(range(past, total), [0, 1, 3]);
    const given = unsqueeze(convert(this.#visible, "boolean"), [1, 2]);
    return { keys, queries, allowed: logicalAnd(lessEqual(keys, queries), given) };
  }
}

/** Builds the layers, one after the other. */
class DecoderLayer {
  /** Of the norms along the whole width. */
  readonly norm: { size: number; axes: number; epsilon: number; offset: 0 | 1 };
  readonly #weights: WeightConstants;
  readonly #shape: LlamaShape;
  readonly #cache: KeyValueCache;
  readonly #masks: Masks;
  readonly #rotation: Rotation;

  constructor(weights: WeightConstants, shape: LlamaShape, cache: KeyValueCache, masks: Masks, rotation: Rotation) {
    this.#weights = weights;
    this.#shape = shape;
    this.#cache = cache;
    this.#masks = masks;
    this.#rotation = rotation;
    this.norm = { size: shape.width, axes: 3, epsilon: shape.normEpsilon, offset: shape.normOffset };
  }

  build(hidden: Value, index: number, name: string): Value {
    const { normsBehind } = this.#shape;
    const norm = (value: Value, part: string): Value => rmsNorm(this.#weights, value, `${name}.${part}`, this.norm);
    const attended = this.#attention(norm(hidden, "input_layernorm"), index, `${name}.self_attn`);
    const middle = add(hidden, normsBehind ? norm(attended, "post_attention_layernorm") : attended);
    const before = norm(middle, normsBehind ? "pre_feedforward_layernorm" : "post_attention_layernorm");
    const after = this.#feedForward(before, `${name}.mlp`);
    return add(middle, normsBehind ? norm(after, "post_feedforward_layernorm") : after);
  }

  #attention(value: Value, index: number, name: string): Value {
    const shape = this.#shape;
    const { heads, keyValueHeads, headSize, queryKeyValueBias: bias, normEpsilon: epsilon, normOffset: offset } = shape;
    const [queryRows, keyRows] = [heads * headSize, keyValueHeads * headSize];
    const projected = (part: "q" | "k" | "v", count: number, between?: (heads: Value) => Value): Value => {
      const joined = {
        name: `${name}.qkv_proj.weight`,
        rows: queryRows + 2 * keyRows,
        firstRow: { q: 0, k: queryRows, v: queryRows + keyRows }[part],
      };
      return splitHeads(
        this.#linear(value, `${name}.${part}_proj`, count * headSize, bias, joined),
        count,
        headSize,
        between,
      );
    };
    const normed = (part: "q" | "k") =>
      shape.queryKeyNorm
        ? (split: Value) =>
            rmsNorm(this.#weights, split, `${name}.${part}_norm`, { size: headSize, axes: 4, epsilon, offset })
        : undefined;
    const query = rotate(projected("q", heads, normed("q")), this.#rotation, headSize);
    const key = this.#cache.append(
      index,
      "key",
      rotate(projected("k", keyValueHeads, normed("k")), this.#rotation, headSize),
    );
    const values = this.#cache.append(index, "value", projected("v", keyValueHeads));
    const attended = attend(query, key, values, this.#masks.of(shape.windows[index]), shape);
    return this.#linear(attended, `${name}.o_proj`, shape.width, shape.outputBias);
  }

  #feedForward(value: Value, name: string): Value {
    const { inner, width, feedForwardBias: bias, activation } = this.#shape;
    const projected = (part: "gate" | "up"): Value =>
      this.#linear(value, `${name}.${part}_proj`, inner, bias, {
        ...{ name: `${name}.gate_up_proj.weight`, rows: 2 * inner, firstRow: part === "gate" ? 0 : inner },
      });
    const gated = multiply(activate(projected("gate"), activation), projected("up"));
    return this.#linear(gated, `${name}.down_proj`, width, bias, undefined, inner);
  }

  /** @param joined - where the matrix lies if projections are stored joined */
  #linear(
    value: Value,
    name: string,
    outputs: number,
    bias: boolean,
    joined?: { name: string; rows: number; firstRow: number },
    inputs = joined ? this.#shape.width : this.#shape.heads * this.#shape.headSize,
  ): Value {
    const weights = this.#weights;
    const matrix =
      joined && this.#shape.joined
        ? weights.matrixRows(joined.name, {
            rows: joined.rows,
            columns: inputs,
            firstRow: joined.firstRow,
            count: outputs,
          })
        : weights.matrix(`${name}.weight`, outputs, inputs);
    const product = matMul(value, matrix);
    return bias ? add(product, weights.vector(`${name}.bias`, outputs, [1, 1, outputs])) : product;
  }
}
