import { ModelError, UnsupportedError } from "../../../../core/errors.js";
import { positiveInteger, type Json } from "../../../files/json-file.js";
import { readRotary, type RotaryEmbedding } from "./rotary.js";

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
  /** Tokens that the model was made for. */
  contextLength: number;
  /** Epsilon of the norms. */
  normEpsilon: number;
  /** What is added to the norms' weights: 1 for Gemma, else 0. */
  normOffset: 0 | 1;
  rope: RotaryEmbedding;
  /** Between the two matrices of the feed-forward part. */
  activation: Activation;
  /** Biases of the three projections before attention (Qwen2). */
  queryKeyValueBias: boolean;
  /** Bias of the projection after attention. */
  outputBias: boolean;
  /** Biases of the feed-forward part. */
  feedForwardBias: boolean;
  /** Norms of queries and keys, head by head (Qwen3). */
  queryKeyNorm: boolean;
  /** Norms behind attention and feed-forward part as well as before them (Gemma 2). */
  normsBehind: boolean;
  /** Projections are stored joined: `qkv_proj` and `gate_up_proj` (Phi-3). */
  joined: boolean;
  /** Factor of the products of queries and keys. */
  attentionScale: number;
  /** Attention scores are kept between plus and minus this (Gemma 2). */
  attentionCap?: number;
  /** Logits are kept between plus and minus this (Gemma 2). */
  logitCap?: number;
  /** Factor of the token embeddings. */
  embeddingScale: number;
  /** For each layer: tokens back from itself that a token sees, itself included; `undefined` = all. */
  windows: readonly (number | undefined)[];
  /** The last layer uses the embedding's values; `undefined` = where it has none of its own. */
  tied?: boolean;
}

export type Activation = "silu" | "gelu" | "gelu-tanh";

/** What sets a `model_type` apart, and what its configuration may leave out. */
interface Family {
  defaults: Json;
  variant?: (config: Json) => Partial<LlamaShape>;
}

const FAMILIES: Record<string, Family> = {
  llama: {
    defaults: {
      hidden_size: 4096,
      intermediate_size: 11_008,
      num_hidden_layers: 32,
      num_attention_heads: 32,
      vocab_size: 32_000,
    },
    variant: (config) => ({
      queryKeyValueBias: config["attention_bias"] === true,
      outputBias: config["attention_bias"] === true,
      feedForwardBias: config["mlp_bias"] === true,
    }),
  },
  mistral: { defaults: { num_key_value_heads: 8, max_position_embeddings: 131_072, sliding_window: 4096 } },
  qwen2: {
    defaults: { max_position_embeddings: 32_768, max_window_layers: 28, num_key_value_heads: 32 },
    variant: () => ({ queryKeyValueBias: true }),
  },
  qwen3: {
    defaults: { max_position_embeddings: 32_768, max_window_layers: 28, num_key_value_heads: 32, head_dim: 128 },
    variant: (config) => ({
      queryKeyValueBias: config["attention_bias"] === true,
      outputBias: config["attention_bias"] === true,
      queryKeyNorm: true,
    }),
  },
  phi3: { defaults: { max_position_embeddings: 4096, rms_norm_eps: 1e-5 }, variant: () => ({ joined: true }) },
  gemma2: {
    defaults: {
      ...{ head_dim: 256, max_position_embeddings: 8192, sliding_window: 4096, query_pre_attn_scalar: 256 },
      ...{ attn_logit_softcapping: 50, final_logit_softcapping: 30, tie_word_embeddings: true },
    },
    variant: (config) => ({
      ...{ normOffset: 1, normsBehind: true, attentionScale: Number(config["query_pre_attn_scalar"]) ** -0.5 },
      ...{ queryKeyValueBias: config["attention_bias"] === true, outputBias: config["attention_bias"] === true },
      ...(typeof config["attn_logit_softcapping"] === "number" && { attentionCap: config["attn_logit_softcapping"] }),
      ...(typeof config["final_logit_softcapping"] === "number" && { logitCap: config["final_logit_softcapping"] }),
      embeddingScale: Number(config["hidden_size"]) ** 0.5,
    }),
  },
};

/** `model_type`s that {@link readLlamaShape} knows. */
export const LLAMA_TYPES: readonly string[] = Object.keys(FAMILIES);

const ACTIVATIONS: Record<string, Activation> = {
  ...{ silu: "silu", swish: "silu", gelu: "gelu" },
  ...{ gelu_new: "gelu-tanh", gelu_pytorch_tanh: "gelu-tanh" },
};

/**
 * Reads sizes and variant from a `config.json`, or from the part of one that describes the language model.
 *
 * @param file - its path, for messages
 * @throws ModelError for missing or impossible values
 * @throws UnsupportedError for variants of the architecture that are not known
 */
export function readLlamaShape(given: Json, file: string): LlamaShape {
  const type = given["model_type"] ?? "llama";
  const family = typeof type === "string" ? FAMILIES[type] : undefined;
  if (!family) {
    throw new UnsupportedError(
      `${file}: models of the kind ${JSON.stringify(type)} cannot be converted (${LLAMA_TYPES.join(", ")} can).`,
      { subject: `model_type ${JSON.stringify(type)}` },
    );
  }
  const config = withDefaults(given, family.defaults);
  const fail = (problem: string): never => {
    throw new ModelError(`${file}: ${problem}.`, { file });
  };
  const size = (name: string, fallback?: number): number => positiveInteger(config, name, file, fallback);
  refuseQuantized(config, file);
  const [width, heads, layers] = [size("hidden_size"), size("num_attention_heads"), size("num_hidden_layers")];
  const keyValueHeads = size("num_key_value_heads", heads);
  if (heads % keyValueHeads !== 0)
    fail(`num_attention_heads ${heads} is not a multiple of num_key_value_heads ${keyValueHeads}`);
  const headSize = size("head_dim", Math.floor(width / heads));
  if (headSize % 2 !== 0) fail(`heads have ${headSize} values; it must be an even number`);
  const { rope, contextLength } = readRotary(config, file, {
    ...{ headSize, contextLength: size("max_position_embeddings", 2048), base: 10_000 },
  });
  const epsilon = config["rms_norm_eps"] ?? 1e-6;
  if (typeof epsilon !== "number" || !(epsilon > 0))
    fail(`"rms_norm_eps" must be a positive number, found ${JSON.stringify(epsilon)}`);
  const tied = config["tie_word_embeddings"];
  return {
    ...{ width, layers, heads, keyValueHeads, headSize, contextLength, rope },
    inner: size("intermediate_size"),
    vocabularySize: size("vocab_size"),
    normEpsilon: epsilon as number,
    activation: activationOf(config, file),
    ...{ normOffset: 0, embeddingScale: 1, attentionScale: headSize ** -0.5 },
    ...{
      queryKeyValueBias: false,
      outputBias: false,
      feedForwardBias: false,
      queryKeyNorm: false,
      normsBehind: false,
      joined: false,
    },
    windows: windowsOf(config, layers, contextLength, fail),
    ...(typeof tied === "boolean" && { tied }),
    ...family.variant?.(config),
  };
}

function withDefaults(given: Json, defaults: Json): Json {
  const config = { ...given };
  for (const [name, value] of Object.entries(defaults)) if (config[name] === undefined) config[name] = value;
  return config;
}

function refuseQuantized({ quantization_config: quantization }: Json, file: string): void {
  if (typeof quantization !== "object" || quantization === null) return;
  const method = (quantization as Json)["quant_method"];
  throw new UnsupportedError(
    `${file}: the checkpoint is quantized already (${typeof method === "string" ? method : "quantization_config"}). ` +
      "Convert the original one (f32, f16 or bf16) with weights int8 or int4.",
    { subject: "quantized checkpoint" },
  );
}

function activationOf(config: Json, file: string): Activation {
  const name = config["hidden_activation"] ?? config["hidden_act"] ?? "silu";
  const activation = typeof name === "string" ? ACTIVATIONS[name] : undefined;
  if (activation) return activation;
  throw new UnsupportedError(`${file}: the activation ${JSON.stringify(name)} is not known (silu and gelu are).`, {
    subject: "activation function",
  });
}

/** Windows that no text within the context reaches beyond are none. */
function windowsOf(
  config: Json,
  layers: number,
  contextLength: number,
  fail: (problem: string) => never,
): (number | undefined)[] {
  const window = config["sliding_window"];
  const none = Array.from<undefined>({ length: layers });
  if (window === undefined || window === null || config["use_sliding_window"] === false) return none;
  if (typeof window !== "number" || !Number.isSafeInteger(window) || window < 1) {
    return fail(`"sliding_window" must be a positive whole number, found ${JSON.stringify(window)}`);
  }
  const type = config["model_type"];
  // Qwen's configurations have a window even where it is not used.
  if ((type === "qwen2" || type === "qwen3") && config["use_sliding_window"] !== true) return none;
  if (window >= contextLength || type === "llama") return none;
  const types = config["layer_types"];
  const first = typeof config["max_window_layers"] === "number" ? config["max_window_layers"] : 0;
  return Array.from({ length: layers }, (_, layer) => {
    if (Array.isArray(types)) return types[layer] === "sliding_attention" ? window : undefined;
    // Gemma 2 alternates, beginning with a window.
    if (type === "gemma2") return layer % 2 === 0 ? window : undefined;
    return layer >= first ? window : undefined;
  });
}
