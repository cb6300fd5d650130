import { ModelError, UnsupportedError } from "../../../../core/errors.js";

/** Sizes of a Whisper model. */
export interface WhisperShape {
  width: number;
  melBands: number;
  vocabularySize: number;
  /** Encoder positions: half as many as mel frames. */
  sourcePositions: number;
  /** Tokens that the decoder can hold. */
  targetPositions: number;
  encoder: StackShape;
  decoder: StackShape;
  /** The last layer uses the embedding's values. */
  tied: boolean;
}

interface StackShape {
  layers: number;
  heads: number;
  /** Width of the inner layer of the feed-forward part. */
  inner: number;
}

/**
 * Reads the sizes from a `config.json`.
 *
 * @param file - its path, for messages
 * @throws ModelError for missing or impossible values
 * @throws UnsupportedError for variants of the architecture that are not known
 */
export function readWhisperShape(config: Record<string, unknown>, file: string): WhisperShape {
  const size = (name: string, fallback?: number): number => {
    const value = config[name] ?? fallback;
    if (typeof value === "number" && Number.isSafeInteger(value) && value > 0 && value < 2 ** 24) return value;
    throw new ModelError(`${file}: "${name}" must be a positive whole number, found ${JSON.stringify(config[name])}.`, {
      file,
    });
  };
  const activation = config["activation_function"] ?? "gelu";
  if (activation !== "gelu") {
    throw new UnsupportedError(
      `${file}: the activation ${JSON.stringify(activation)} is not known for Whisper models (gelu is).`,
      {
        subject: "activation function",
      },
    );
  }
  if (config["scale_embedding"] === true) {
    throw new UnsupportedError(`${file}: "scale_embedding" is not supported for Whisper models.`, {
      subject: "scale_embedding",
    });
  }
  const width = size("d_model");
  const stack = (side: "encoder" | "decoder"): StackShape => {
    const heads = size(`${side}_attention_heads`);
    if (width % heads !== 0) {
      throw new ModelError(`${file}: d_model ${width} is not a multiple of ${side}_attention_heads ${heads}.`, {
        file,
      });
    }
    return { layers: size(`${side}_layers`), heads, inner: size(`${side}_ffn_dim`) };
  };
  return {
    width,
    melBands: size("num_mel_bins", 80),
    vocabularySize: size("vocab_size"),
    sourcePositions: size("max_source_positions", 1500),
    targetPositions: size("max_target_positions", 448),
    encoder: stack("encoder"),
    decoder: stack("decoder"),
    tied: config["tie_word_embeddings"] !== false,
  };
}
