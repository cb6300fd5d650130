import { ModelError, OptionError } from "../core/errors.js";
import { showValue } from "../core/validate.js";
import type { JanusFacts } from "../models/janus-facts.js";
import type { Tokenizer } from "../text/tokenizer.js";
import type { LoadedImageModel, PromptTokenIds } from "./image-model.js";

/** A prompt as the model takes it: two rows of the same length. */
export interface EncodedImagePrompt {
  /** As text, control tokens included. */
  text: string;
  ids: number[];
  /** The same length without a meaning: what guidance compares with. */
  unconditionalIds: number[];
}

/** @throws OptionError unless it is a string */
export function checkImagePrompt(prompt: unknown): string {
  if (typeof prompt === "string") return prompt;
  throw new OptionError(`prompt must be a string, received ${showValue(prompt)}.`, {
    path: "prompt",
    expected: "a string",
    received: prompt,
  });
}

/** Finds the ids, which differ between repositories. @throws ModelError where the vocabulary lacks one */
export function promptTokenIds(tokenizer: Tokenizer, { tokens }: JanusFacts, folder: string): PromptTokenIds {
  const idOf = (token: string): number => {
    const id = tokenizer.idOf(token);
    if (id !== undefined) return id;
    throw new ModelError(
      `${folder}: the tokenizer has no token ${token}, which pictures are made with. Are these the tokenizer files of this model?`,
      { file: folder },
    );
  };
  return { bos: idOf(tokens.bos), pad: idOf(tokens.pad), beginOfImage: idOf(tokens.beginOfImage) };
}

/**
 * The prompt as the model was trained: BOS, one user message, the opening of the answer, begin-of-image. For guidance every
 * token between the first and the last is the pad token, which is attended to like any other (deepseek-ai/Janus,
 * `generation_inference.py`). Control tokens that the prompt spells are plain text.
 */
export async function encodeImagePrompt(
  { template, tokenIds, facts }: Pick<LoadedImageModel, "template" | "tokenIds" | "facts">,
  prompt: string,
): Promise<EncodedImagePrompt> {
  const { ids, text } = await template.encode([{ role: "user", content: prompt }]);
  const { bos, pad, beginOfImage } = tokenIds;
  // Templates of this family print no BOS; the models' tokenizers add it.
  const body = ids[0] === bos ? ids.slice(1) : ids;
  const opening = text.startsWith(facts.tokens.bos) ? "" : facts.tokens.bos;
  return {
    text: `${opening}${text}${facts.tokens.beginOfImage}`,
    ids: [bos, ...body, beginOfImage],
    unconditionalIds: [bos, ...body.map(() => pad), beginOfImage],
  };
}
