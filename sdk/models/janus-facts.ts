import { join } from "node:path";
import { ModelError } from "../core/errors.js";
import { positiveInteger, section, type Json } from "./files/json-file.js";
import type { VisionModelSource } from "./vision-model.js";

/** What Janus's prompts for text begin with, right behind BOS. */
const SYSTEM_PROMPT =
  "You are a helpful language and vision assistant. " +
  "You are able to understand the visual content that the user provides, " +
  "and assist the user with a variety of tasks using natural language.\n\n";

/**
 * Renders messages as Janus-Pro was trained: `<|User|>: …` and an empty line, `<|Assistant|>: …` and the end of the sentence.
 * A picture stands on a line of its own, texts that follow each other are joined by a space.
 */
const CHAT_TEMPLATE = `
{%- for message in messages %}
  {%- set role = message['role'] | lower %}
  {%- set parts = message['content'] %}
  {%- if role == 'user' %}
    {{- '<|User|>: ' }}
  {%- elif role == 'assistant' %}
    {{- '<|Assistant|>:' }}
    {%- set opened = loop.last and not add_generation_prompt and parts[0]['type'] == 'text' and parts[0]['text'] == '' %}
    {%- if not opened %}{{ ' ' }}{% endif %}
  {%- else %}
    {{- message['role'].capitalize() + ': ' }}
  {%- endif %}
  {%- for part in parts %}
    {%- if part['type'] == 'image' %}
      {%- if not loop.first %}{{ '\\n' }}{% endif %}
      {{- '<image_placeholder>' }}
      {%- if not loop.last %}{{ '\\n' }}{% endif %}
    {%- elif part['type'] == 'text' %}
      {%- set text = part['text'] %}
      {%- if loop.first %}{% set text = text.lstrip() %}{% endif %}
      {%- if loop.last %}{% set text = text.rstrip() %}{% endif %}
      {%- if not loop.first and parts[loop.index0 - 1]['type'] == 'text' %}{{ ' ' }}{% endif %}
      {{- text }}
    {%- endif %}
  {%- endfor %}
  {%- if not loop.last or add_generation_prompt %}
    {{- '\\n\\n' if role == 'user' else '<｜end▁of▁sentence｜>' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|Assistant|>:' }}{% endif %}`;

/** Tokens with a meaning of their own in Janus's vocabulary, as they are spelled. */
interface JanusTokens {
  bos: string;
  pad: string;
  beginOfImage: string;
  /** Stands where a row of a picture's features goes. */
  imagePlaceholder: string;
  endOfImage: string;
}

/** Their usual spelling. Ids differ between repositories: ask the tokenizer. */
export const IMAGE_TOKENS: Readonly<JanusTokens> = {
  bos: "<｜begin▁of▁sentence｜>",
  pad: "<｜▁pad▁｜>",
  beginOfImage: "<begin_of_image>",
  imagePlaceholder: "<image_placeholder>",
  endOfImage: "<end_of_image>",
};

/** What a pipeline needs to know about a Janus model besides its graphs and its tokenizer. */
export interface JanusFacts {
  /** Tokens of a picture, read or made: 576. */
  imageTokens: number;
  /** Tokens along each side of a picture: 24. */
  gridSize: number;
  /** Pixels along each side of a picture: 384. */
  imageSize: number;
  /** Different tokens that a picture can be made of: 16,384. */
  codebookSize: number;
  /** Length of an entry of the codebook: 8. */
  codeDimension: number;
  /** Length of an embedding row, where the configuration tells. */
  hiddenSize?: number;
  /** Scale of classifier-free guidance that the model's files ask for: 5. */
  guidanceScale: number;
  /** {@link IMAGE_TOKENS}, or what `processor_config.json` calls them. */
  tokens: JanusTokens;
  /** Whether prompts that ask for text begin with {@link JanusFacts.systemPrompt} (those that ask for pictures never do). */
  useDefaultSystemPrompt: boolean;
  /** Stands right behind BOS; ends with an empty line. */
  systemPrompt: string;
  /** The family's chat template, for folders that bring none (those in the original layout). */
  chatTemplate: string;
}

const DEFAULT_GUIDANCE = 5;
/** As far as the option goes. */
const MOST_GUIDANCE = 100;

/**
 * Reads the facts of a Janus model from its configuration files, which come in two layouts: transformers'
 * (`model_type: "janus"`) and the original one (`"multi_modality"`), which exports by the OpenVINO notebook have as well.
 *
 * @throws ModelError naming the file if a value is missing or impossible
 */
export function janusFacts(source: VisionModelSource): JanusFacts {
  const { folder, config, generationConfig, processorConfig } = source;
  const file = join(folder, "config.json");
  const original = config["model_type"] === "multi_modality";
  const sizes = original ? originalSizes(source, file) : transformersSizes(config, file);
  const gridSize = Math.sqrt(sizes.imageTokens);
  if (!Number.isInteger(gridSize)) {
    throw new ModelError(`${file}: pictures of ${sizes.imageTokens} tokens are not square.`, { file });
  }
  const guidance = generationConfig["guidance_scale"];
  const systemPromptFlag = processorConfig["use_default_system_prompt"];
  return {
    ...sizes,
    gridSize,
    guidanceScale:
      typeof guidance === "number" && guidance >= 1 && guidance <= MOST_GUIDANCE ? guidance : DEFAULT_GUIDANCE,
    tokens: tokensOf(processorConfig),
    // The original program has no such flag and always begins so.
    useDefaultSystemPrompt: typeof systemPromptFlag === "boolean" ? systemPromptFlag : original,
    systemPrompt: SYSTEM_PROMPT,
    chatTemplate: CHAT_TEMPLATE,
  };
}

type Sizes = Pick<JanusFacts, "imageTokens" | "imageSize" | "codebookSize" | "codeDimension" | "hiddenSize">;

function transformersSizes(config: Json, file: string): Sizes {
  const [vision, vq, text] = [
    section(config, "vision_config"),
    section(config, "vq_config"),
    section(config, "text_config"),
  ];
  const imageSize = positiveInteger(vision, "vision_config.image_size", file, 384);
  const patchSize = positiveInteger(vision, "vision_config.patch_size", file, 16);
  return {
    imageTokens: positiveInteger(
      vision,
      "vision_config.num_image_tokens",
      file,
      Math.floor(imageSize / patchSize) ** 2,
    ),
    imageSize,
    codebookSize: positiveInteger(vq, "vq_config.num_embeddings", file, 16_384),
    codeDimension: positiveInteger(vq, "vq_config.embed_dim", file, 8),
    hiddenSize: positiveInteger(text, "text_config.hidden_size", file, 4096),
  };
}

function originalSizes({ config, processorConfig, folder }: VisionModelSource, file: string): Sizes {
  const [vision, generation] = [section(config, "vision_config"), section(config, "gen_vision_config")].map((part) =>
    section(part, "params"),
  ) as [Json, Json];
  return {
    imageTokens: positiveInteger(processorConfig, "num_image_tokens", join(folder, "processor_config.json"), 576),
    imageSize: positiveInteger(vision, "vision_config.params.image_size", file, 384),
    codebookSize: positiveInteger(generation, "gen_vision_config.params.image_token_size", file, 16_384),
    codeDimension: positiveInteger(generation, "gen_vision_config.params.n_embed", file, 8),
    // The 7B model leaves it out because it is LlamaConfig's own default.
    hiddenSize: positiveInteger(section(config, "language_config"), "language_config.hidden_size", file, 4096),
  };
}

function tokensOf(processorConfig: Json): JanusTokens {
  const spelled = (key: string, usual: string): string => {
    const value = processorConfig[key];
    return typeof value === "string" && value !== "" ? value : usual;
  };
  return {
    bos: IMAGE_TOKENS.bos,
    pad: spelled("pad_tag", IMAGE_TOKENS.pad),
    beginOfImage: spelled("image_start_tag", IMAGE_TOKENS.beginOfImage),
    imagePlaceholder: spelled("image_tag", IMAGE_TOKENS.imagePlaceholder),
    endOfImage: spelled("image_end_tag", IMAGE_TOKENS.endOfImage),
  };
}
