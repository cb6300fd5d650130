import type { ModelSource } from "../models/resolve.js";
import { ChatTemplate } from "../text/chat-template.js";
import { templateOfFolder, templateOfGguf, templateOfText, type TemplateSource } from "../text/template-source.js";
import type { Tokenizer } from "../text/tokenizer.js";

/**
 * The chat template in force: the one given, else the model's own; `undefined` if there is none.
 *
 * @param given - Jinja text from the `chatTemplate` load option
 */
export async function loadTemplate(
  source: ModelSource,
  tokenizer: Tokenizer,
  given: string | undefined,
): Promise<ChatTemplate | undefined> {
  let found: TemplateSource | undefined;
  if (given !== undefined) found = templateOfText(given, "the option chatTemplate");
  else if (source.kind === "gguf") found = templateOfGguf(source.gguf);
  else found = await templateOfFolder(source.path);
  return found && new ChatTemplate(found, tokenizer);
}
