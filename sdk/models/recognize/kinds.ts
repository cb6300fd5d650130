/** A class of this package that loads models. */
export type PipelineName = "LLMPipeline" | "VLMPipeline" | "WhisperPipeline" | "ImagePipeline";

/** A kind of models, and how it is known. */
export interface Kind {
  /** For messages: `… holds a GGUF model`. */
  what: string;
  /** `none`: nothing here reads it. */
  format: "ir" | "gguf" | "safetensors" | "ctranslate2" | "none";
  /** Names of files that only this kind has; one of them is enough, what is missing is told later. */
  shownBy: RegExp;
  /** A folder that has such a file as well is something else. */
  unless?: RegExp;
  /** What a file of this kind begins with, whatever its name. */
  magic?: string;
  loadedBy: readonly PipelineName[];
  /** Why nothing loads it, or what to do with it, as a sentence. Without it the pipelines are named. */
  advice?: string;
  /** For what cannot be read by any version of this kind: the subject of an UnsupportedError. */
  refused?: string;
}

const VISION: readonly PipelineName[] = ["VLMPipeline", "ImagePipeline"];
/** Of whole models: `adapter_model.safetensors` is none. */
const WEIGHTS = /\.safetensors(\.index\.json)?$|^model\.bin$/;

/**
 * All kinds of models by what lies in their folder, the most telling first: what is used as it is stands before what has to be
 * converted. A new kind is a row here; a checkpoint that can be converted is one in {@link CHECKPOINTS}.
 */
export const KINDS: readonly Kind[] = [
  {
    what: "a vision-language model",
    format: "ir",
    shownBy: /^openvino_(language|text_embeddings|lm_head|vision_embeddings\w*)_model\.(xml|bin)$/,
    loadedBy: VISION,
  },
  {
    what: "an image generation model",
    format: "ir",
    shownBy: /^openvino_gen_\w+_model\.(xml|bin)$/,
    loadedBy: VISION,
  },
  {
    what: "an encoder-decoder model (such as Whisper)",
    format: "ir",
    shownBy: /^openvino_(encoder|decoder)_model\.(xml|bin)$/,
    loadedBy: ["WhisperPipeline"],
  },
  {
    what: "a language model in OpenVINO IR",
    format: "ir",
    shownBy: /^openvino_model\.(xml|bin)$/,
    loadedBy: ["LLMPipeline"],
    advice: "LLMPipeline loads it, as a language model without vision or hearing",
  },
  {
    what: "an OpenVINO model of a kind that is not known here",
    format: "ir",
    shownBy: /^openvino_.*model\.(xml|bin)$/,
    unless:
      /^openvino_((language|text_embeddings|lm_head|vision_embeddings\w*|gen_\w+|encoder|decoder)_)?model\.(xml|bin)$/,
    loadedBy: [],
  },
  {
    what: "a GGUF model",
    format: "gguf",
    // Vision projectors do not count.
    shownBy: /^(?!.*mmproj).*\.gguf$/i,
    magic: "GGUF",
    loadedBy: ["LLMPipeline"],
  },
  { what: "a diffusion model", format: "none", shownBy: /^model_index\.json$/, loadedBy: [] },
  {
    what: "a LoRA adapter",
    format: "none",
    shownBy: /^adapter_(config\.json|model\.(safetensors|bin))$/,
    unless: /^config\.json$/,
    loadedBy: [],
    advice: "It is a part of a model only: merge it into its base model (in PEFT: merge_and_unload) and pass that",
    refused: "LoRA adapter",
  },
  {
    what: "a CTranslate2 model for translation",
    format: "none",
    shownBy: /^(shared|source|target)_vocabulary\.(json|txt)$/,
    unless: /\.safetensors(\.index\.json)?$/,
    loadedBy: [],
    advice: "Of CTranslate2's models only Whisper is read. Pass the safetensors checkpoint that it was made from",
    refused: "CTranslate2 model",
  },
];

/** Weights in forms that nothing here reads. A folder may have them besides others. */
export const FOREIGN_WEIGHTS: readonly (Kind & { refused: string })[] = [
  {
    what: "PyTorch weights, which are not read: they may run any program when loaded",
    format: "none",
    shownBy: /\.(pt|pth|ckpt)$|^pytorch_model.*\.bin$/,
    unless: WEIGHTS,
    loadedBy: [],
    refused: "PyTorch weights",
  },
  {
    what: "ONNX graphs, which are not read",
    format: "none",
    shownBy: /^onnx$|\.onnx$/,
    unless: WEIGHTS,
    loadedBy: [],
    refused: "ONNX weights",
  },
  {
    what: "a whisper.cpp model (ggml), which cannot be read",
    format: "none",
    shownBy: /^ggml-.*\.bin$/,
    unless: WEIGHTS,
    // The bytes of the number 0x67676d6c.
    magic: "lmgg",
    loadedBy: [],
    refused: "ggml model",
  },
];

/** What pipelines do with the checkpoints that can be converted, by the name of the converter's architecture. */
export const CHECKPOINTS: Readonly<Record<string, { loadedBy: readonly PipelineName[]; published?: string }>> = {
  "language-model": { loadedBy: ["LLMPipeline"] },
  whisper: { loadedBy: ["WhisperPipeline"], published: "openai/whisper-… on the hub" },
  // The repositories of deepseek-ai hold pickled weights only, and those for browsers ONNX graphs.
  janus: {
    loadedBy: VISION,
    published: "deepseek-community's repository, for example deepseek-community/Janus-Pro-1B",
  },
};
