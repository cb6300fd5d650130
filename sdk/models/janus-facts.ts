import { ModelError } from "../core/errors.js";
import type { VisionModelSource } from "./vision-model.js";

/** Tokens with a meaning of their own in Janus's vocabulary. Their ids differ between repositories: ask the tokenizer. */
export const IMAGE_TOKENS = {
  bos: "<｜begin▁of▁sentence｜>",
  pad: "<｜▁pad▁｜>",
  beginOfImage: "<begin_of_image>",
  imagePlaceholder: "<image_placeholder>",
  endOfImage: "<end_of_image>",
} as const;

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
  tokens: typeof IMAGE_TOKENS;
  /** Whether prompts with pictures begin with {@link JanusFacts.systemPrompt}. */
  useDefaultSystemPrompt: boolean;
  systemPrompt: string;
  /** The family's chat template, for folders that bring none (the original layout never does). */
  chatTemplate: string;
}

const SYSTEM_PROMPT =
  "You are a helpful language and vision assistant. " +
  "You are able to understand the visual content that the user provides, " +
  "and assist the user with a variety of tasks using natural language.";

/**
 * Renders messages as Janus-Pro was trained: `<|User|>: …\n\n<|Assistant|>: …<end of sentence>`. A picture stands on a line of
 * its own, texts that follow each other are joined by a space.
 */
const CHAT_TEMPLATE = [
  "{%- for message in messages %}",
  "{%- set role = message['role'] | lower %}",
  "{%- if role == 'user' %}{{ '<|User|>: ' }}",
  "{%- elif role == 'assistant' %}{{ '<|Assistant|>: ' }}",
  "{%- else %}{{ message['role'].capitalize() + ': ' }}{% endif %}",
  "{%- for part in message['content'] %}",
  "{%- if part['type'] == 'image' %}",
  "{{- '' if loop.first else '\\n' }}{{ '<image_placeholder>' }}{{ '' if loop.last else '\\n' }}",
  "{%- elif part['type'] == 'text' %}",
  "{%- set text = part['text'] %}",
  "{%- if loop.first %}{% set text = text.lstrip() %}{% endif %}",
  "{%- if loop.last %}{% set text = text.rstrip() %}{% endif %}",
  "{%- if not loop.first and message['content'][loop.index0 - 1]['type'] == 'text' %}{{ ' ' }}{% endif %}",
  "{{- text }}",
  "{%- endif %}",
  "{%- endfor %}",
  "{%- if not loop.last or add_generation_prompt %}",
  "{{- '\\n\\n' if role == 'user' else '<｜end▁of▁sentence｜>' }}",
  "{%- endif %}",
  "{%- endfor %}",
  "{%- if add_generation_prompt %}{{ '<|Assistant|>:' }}{% endif %}",
].join("\n");

/**
 * Reads the facts of a Janus model from its configuration files, which come in two layouts: transformers'
 * (`model_type: "janus"`) and the original one (`"multi_modality"`), whose sizes are partly behind names.
 *
 * @throws ModelError naming the file if a value is missing or impossible
 */
export function janusFacts(source: VisionModelSource): JanusFacts {
  throw new ModelError("not yet", { file: source.folder });
}

export { SYSTEM_PROMPT, CHAT_TEMPLATE };
