import type { WhisperShape } from "./whisper-shape.js";
import type { WhisperTokens } from "./whisper-tokenizer.js";

type Json = Record<string, unknown>;

/** From this size on a Whisper vocabulary has languages. */
const MULTILINGUAL_VOCABULARY = 51_865;

const PLAIN_TOKEN = { content: "<|endoftext|>", lstrip: false, normalized: false, rstrip: false, single_word: false };

/** `config.json` for a model whose own file does not have these fields. */
export function whisperConfig(shape: WhisperShape, tokens: WhisperTokens): Json {
  const { encoder, decoder, endOfText } = { ...shape, ...tokens };
  return {
    architectures: ["WhisperForConditionalGeneration"],
    model_type: "whisper",
    is_encoder_decoder: true,
    activation_function: "gelu",
    ...{ activation_dropout: 0, attention_dropout: 0, dropout: 0, encoder_layerdrop: 0, decoder_layerdrop: 0 },
    ...{ init_std: 0.02, apply_spec_augment: false, use_weighted_layer_sum: false, scale_embedding: false },
    ...{ use_cache: true, tie_word_embeddings: true },
    vocab_size: shape.vocabularySize,
    d_model: shape.width,
    num_mel_bins: shape.melBands,
    num_hidden_layers: encoder.layers,
    ...{ encoder_layers: encoder.layers, decoder_layers: decoder.layers },
    ...{ encoder_attention_heads: encoder.heads, decoder_attention_heads: decoder.heads },
    ...{ encoder_ffn_dim: encoder.inner, decoder_ffn_dim: decoder.inner },
    max_source_positions: shape.sourcePositions,
    max_target_positions: shape.targetPositions,
    ...{ bos_token_id: endOfText, eos_token_id: endOfText, pad_token_id: endOfText },
    decoder_start_token_id: tokens.startOfTranscript,
    torch_dtype: "float16",
  };
}

/** What `generation_config.json` must say for a model; without the lists that only its makers know. */
export function whisperGenerationConfig(shape: WhisperShape, tokens: WhisperTokens): Json {
  const { endOfText } = tokens;
  const multilingual = shape.vocabularySize >= MULTILINGUAL_VOCABULARY;
  return {
    bos_token_id: endOfText,
    decoder_start_token_id: tokens.startOfTranscript,
    eos_token_id: endOfText,
    pad_token_id: endOfText,
    is_multilingual: multilingual,
    max_initial_timestamp_index: 50,
    max_length: shape.targetPositions,
    no_timestamps_token_id: tokens.noTimestamps,
    prev_sot_token_id: tokens.startOfPrevious,
    return_timestamps: false,
    // Without a task some programs leave its token out of the prompt, and Whisper then repeats itself.
    ...(multilingual && {
      lang_to_id: tokens.languages,
      task: "transcribe",
      task_to_id: { transcribe: tokens.transcribe, translate: tokens.translate },
    }),
  };
}

/** `preprocessor_config.json`: how sound becomes mel bands. All Whisper models differ in the number of bands only. */
export function whisperPreprocessorConfig(melBands: number): Json {
  return {
    chunk_length: 30,
    feature_extractor_type: "WhisperFeatureExtractor",
    feature_size: melBands,
    ...{ hop_length: 160, n_fft: 400, n_samples: 480_000, nb_max_frames: 3000 },
    ...{ padding_side: "right", padding_value: 0, processor_class: "WhisperProcessor" },
    return_attention_mask: false,
    sampling_rate: 16_000,
  };
}

/** `tokenizer_config.json`. */
export function whisperTokenizerConfig({ control }: WhisperTokens): Json {
  return {
    add_prefix_space: false,
    ...{
      bos_token: "<|endoftext|>",
      eos_token: "<|endoftext|>",
      unk_token: "<|endoftext|>",
      pad_token: "<|endoftext|>",
    },
    clean_up_tokenization_spaces: true,
    errors: "replace",
    model_max_length: 1024,
    processor_class: "WhisperProcessor",
    return_attention_mask: false,
    tokenizer_class: "WhisperTokenizer",
    // transformers takes the last of these to be the one before the first timestamp.
    additional_special_tokens: control,
  };
}

/** `special_tokens_map.json`. */
export function whisperSpecialTokensMap({ control }: WhisperTokens): Json {
  return {
    ...{ bos_token: PLAIN_TOKEN, eos_token: PLAIN_TOKEN, unk_token: PLAIN_TOKEN, pad_token: PLAIN_TOKEN },
    additional_special_tokens: control,
  };
}
