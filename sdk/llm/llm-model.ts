import type { TextModel, TextModelParts } from "../generation/text-model.js";
import { TEXT_MESSAGES } from "../generation/message-rules.js";
import { ChatTemplate } from "../text/chat-template.js";

/**
 * A language model whose prompts are text.
 *
 * @param path - the model as the caller named it, for messages
 */
export function languageModel(path: string, parts: TextModelParts): TextModel {
  const { tokenizer, template } = parts;
  return {
    ...parts,
    messages: TEXT_MESSAGES,
    encode: (prompt, work) => {
      const encode = async () => {
        if (prompt.kind === "raw") {
          const { text, allowControlTokens } = prompt;
          return { text, ids: await tokenizer.encodeAsync(text, { allowControlTokens }), foldedSystem: false };
        }
        if (!template) throw ChatTemplate.missing(path);
        const { messages, tools, templateOptions, allowControlTokens } = prompt;
        return template.encode(messages, { tools, templateOptions, allowControlTokens });
      };
      return work ? work.clock.measureAsync("tokenize", encode) : encode();
    },
  };
}
