import { ModelError, UnsupportedError } from "../../../../core/errors.js";
import { positiveInteger, section, type Json } from "../../../files/json-file.js";
import type { GenerationShape } from "./janus-generation.js";
import { readLlamaShape, type LlamaShape } from "../llama/llama-shape.js";
import type { SiglipShape } from "./siglip.js";
import type { AlignerShape } from "./vision-layers.js";
import type { VqShape } from "./vq.js";

/** Sizes of a Janus model. */
export interface JanusShape {
  text: LlamaShape;
  vision: SiglipShape;
  /** From the vision tower to the language model. */
  aligner: AlignerShape;
  generation: GenerationShape;
  vq: VqShape;
}

/** Of the original layout: what stands behind `model_name` in its program. */
const VISION_TOWERS: Record<string, Json> = {
  siglip_large_patch16_384: { hidden_size: 1024, num_hidden_layers: 24, num_attention_heads: 16, patch_size: 16 },
};

/**
 * Reads the sizes from a `config.json` in transformers' layout (`model_type: "janus"`) or in the original one
 * (`"multi_modality"`).
 *
 * @param file - its path, for messages
 * @throws ModelError for missing or impossible values, and values that contradict each other
 * @throws UnsupportedError for variants of the architecture that are not known
 */
export function readJanusShape(config: Json, file: string): JanusShape {
  const given = config["model_type"] === "multi_modality" ? fromOriginal(config, file) : config;
  const defaults = { model_type: "llama", quantization_config: given["quantization_config"] };
  const text = readLlamaShape({ ...defaults, ...section(given, "text_config") }, file);
  const vision = readVision(section(given, "vision_config"), file);
  const gridSize = vision.imageSize / vision.patchSize;
  const vqConfig = section(given, "vq_config");
  const vq = readVq(vqConfig, gridSize, file);
  const pixels = gridSize * 2 ** (vq.multipliers.length - 1);
  if (pixels !== vision.imageSize) {
    throw new ModelError(
      `${file}: the VQ model makes pictures of ${pixels} pixels a side, but vision_config.image_size is ${vision.imageSize}.`,
      { file },
    );
  }
  const visionConfig = section(given, "vision_config");
  for (const [name, part] of [
    ["vision_config", visionConfig],
    ["vq_config", vqConfig],
  ] as const) {
    const width = positiveInteger(part, `${name}.projection_dim`, file, text.width);
    if (width !== text.width) {
      throw new ModelError(
        `${file}: ${name}.projection_dim is ${width}, but text_config.hidden_size is ${text.width}.`,
        { file },
      );
    }
  }
  const depth = positiveInteger(visionConfig, "vision_config.depth", file, 2);
  const generationDepth = positiveInteger(vqConfig, "vq_config.num_hidden_layers", file, 2);
  return {
    ...{ text, vision, vq },
    aligner: { inputs: vision.width, width: text.width, depth },
    generation: {
      codebookSize: vq.codebookSize,
      aligner: { inputs: vq.codeDimension, width: text.width, depth: generationDepth },
    },
  };
}

function readVision(config: Json, file: string): SiglipShape {
  const size = (name: string, fallback: number): number =>
    positiveInteger(config, `vision_config.${name}`, file, fallback);
  refuseUnless(
    config,
    "vision_config",
    { hidden_act: "gelu", attention_bias: true, use_qk_norm: false, num_channels: 3 },
    file,
  );
  const [width, heads] = [size("hidden_size", 1024), size("num_attention_heads", 16)];
  const [imageSize, patchSize] = [size("image_size", 384), size("patch_size", 16)];
  if (width % heads !== 0) {
    throw new ModelError(
      `${file}: vision_config.hidden_size ${width} is not a multiple of num_attention_heads ${heads}.`,
      { file },
    );
  }
  if (imageSize % patchSize !== 0) {
    throw new ModelError(
      `${file}: vision_config.image_size ${imageSize} is not a multiple of patch_size ${patchSize}.`,
      { file },
    );
  }
  const layers = size("num_hidden_layers", 24);
  const inner = Math.floor(width * positiveNumber(config, "vision_config.mlp_ratio", file, 4));
  const normEpsilon = positiveNumber(config, "vision_config.layer_norm_eps", file, 1e-6);
  return { width, heads, layers, inner, imageSize, patchSize, normEpsilon };
}

function readVq(config: Json, gridSize: number, file: string): VqShape {
  const size = (name: string, fallback: number): number => positiveInteger(config, `vq_config.${name}`, file, fallback);
  refuseUnless(
    config,
    "vq_config",
    { hidden_act: "gelu", double_latent: false, in_channels: 3, out_channels: 3 },
    file,
  );
  const multipliers = config["channel_multiplier"] ?? [1, 1, 2, 2, 4];
  if (
    !Array.isArray(multipliers) ||
    multipliers.length === 0 ||
    !multipliers.every((value) => Number.isSafeInteger(value) && value > 0)
  ) {
    throw new ModelError(
      `${file}: "vq_config.channel_multiplier" must be a list of whole numbers, found ${JSON.stringify(multipliers)}.`,
      {
        file,
      },
    );
  }
  return {
    codebookSize: size("num_embeddings", 16_384),
    codeDimension: size("embed_dim", 8),
    latentChannels: size("latent_channels", 256),
    baseChannels: size("base_channels", 128),
    multipliers: multipliers as number[],
    blocks: size("num_res_blocks", 2),
    gridSize,
  };
}

function positiveNumber(config: Json, name: string, file: string, fallback: number): number {
  const value = config[name.slice(name.lastIndexOf(".") + 1)] ?? fallback;
  if (typeof value === "number" && Number.isFinite(value) && value > 0) return value;
  throw new ModelError(`${file}: "${name}" must be a positive number, found ${JSON.stringify(value)}.`, { file });
}

/** What is not told is taken to be as usual. */
function refuseUnless(config: Json, part: string, usual: Json, file: string): void {
  for (const [name, value] of Object.entries(usual)) {
    const given = config[name] ?? value;
    if (given === value) continue;
    throw new UnsupportedError(
      `${file}: ${part}.${name} is ${JSON.stringify(given)}; only Janus models with ${JSON.stringify(value)} can be converted.`,
      { subject: `${part}.${name}` },
    );
  }
}

/** The original layout in terms of transformers'. What its program hides behind names is filled in. */
function fromOriginal(config: Json, file: string): Json {
  const parameters = (name: string): Json => section(section(config, name), "params");
  const vision = parameters("vision_config");
  const tower = vision["model_name"] ?? "siglip_large_patch16_384";
  const known = typeof tower === "string" ? VISION_TOWERS[tower] : undefined;
  const quantizer = section(config, "gen_vision_config")["cls"] ?? "VQ-16";
  if (!known || quantizer !== "VQ-16") {
    const subject = known
      ? `gen_vision_config.cls ${JSON.stringify(quantizer)}`
      : `vision tower ${JSON.stringify(tower)}`;
    throw new UnsupportedError(
      `${file}: the ${subject} is not known. Convert the repository of deepseek-community that has the same model.`,
      { subject },
    );
  }
  const [generation, aligner, generationAligner] = ["gen_vision_config", "aligner_config", "gen_aligner_config"].map(
    parameters,
  ) as [Json, Json, Json];
  return {
    text_config: section(config, "language_config"),
    vision_config: {
      ...known,
      image_size: vision["image_size"],
      depth: aligner["depth"],
      projection_dim: aligner["n_embed"],
    },
    vq_config: {
      ...{ num_embeddings: generation["image_token_size"], embed_dim: generation["n_embed"] },
      ...{ num_hidden_layers: generationAligner["depth"], projection_dim: generationAligner["n_embed"] },
    },
  };
}
