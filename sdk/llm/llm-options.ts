import { z } from "zod";
import { generationOptionFields, type GenerationOptions } from "../core/generation-options.js";
import { loadOptionFields, parseLoadOptions, type LoadOptions } from "../core/load-options.js";
import { flag, signal } from "../core/option-schemas.js";
import { parseOptions } from "../core/validate.js";

/** Options of {@link LLMPipeline.load}. */
export interface LLMLoadOptions extends LoadOptions {
  /** A chat template (Jinja) to use in place of the model's own. */
  chatTemplate?: string | undefined;
}

/** How a prompt becomes the text that the model sees. */
export interface PromptOptions {
  /**
   * Put the prompt through the model's chat template, a string as one user message. `false` gives the model the string as it
   * is. Defaults to `true`.
   */
  applyChatTemplate?: boolean | undefined;
  /** Functions the model may call, as its chat template expects them (JSON Schema in OpenAI's form). */
  tools?: readonly Record<string, unknown>[] | undefined;
  /** Further variables for the chat template, for example `{ enable_thinking: false }`. */
  templateOptions?: Record<string, unknown> | undefined;
  /**
   * Read control tokens (`<|im_start|>`) in message texts as such. By default they are plain text, so that what a user types
   * cannot open a turn. Defaults to `false` for messages; a raw prompt (`applyChatTemplate: false`) reads them always unless
   * this is `false`.
   */
  allowControlTokens?: boolean | undefined;
}

/** Options of one call. */
export interface LLMOptions extends GenerationOptions, PromptOptions {
  /** Ends the call; it rejects with the signal's reason once native work has ended. */
  signal?: AbortSignal | undefined;
}

/** Options of a chat; they hold for every turn unless the turn says otherwise. */
export interface ChatOptions extends GenerationOptions, Omit<PromptOptions, "applyChatTemplate"> {
  /** Instructions to the model, put before the first turn. */
  system?: string | undefined;
  /** Messages to begin with. Not together with `system` (make it the first message). */
  history?: readonly unknown[] | undefined;
}

/** Options of one turn of a chat. */
export type TurnOptions = Omit<LLMOptions, "applyChatTemplate">;

const plainObject = z.record(z.string(), z.unknown()).describe("an object");

const promptFields = {
  tools: z.array(plainObject).describe("an array of tool definitions (objects)").optional(),
  templateOptions: plainObject.optional(),
  allowControlTokens: flag.optional(),
};

const loadSchema = z.strictObject({
  ...loadOptionFields,
  chatTemplate: z.string().min(1).describe("a chat template (a string that is not empty)").optional(),
});

const callSchema = z.strictObject({
  ...generationOptionFields,
  ...promptFields,
  applyChatTemplate: flag.optional(),
  signal: signal.optional(),
});

const turnSchema = callSchema.omit({ applyChatTemplate: true });

/** What a chat keeps of its options; all of it can be written as JSON. */
export const chatDefaultsSchema = z.strictObject({ ...generationOptionFields, ...promptFields });

const chatSchema = chatDefaultsSchema.extend({
  system: z.string().optional(),
  // The messages themselves are checked where messages are.
  history: z.array(z.unknown()).optional(),
});

const explainSchema = callSchema.extend({ prompt: z.unknown().optional() });

/** @throws OptionError */
export function parseLLMLoadOptions(value: unknown): LLMLoadOptions {
  return parseLoadOptions<LLMLoadOptions>(value, loadSchema);
}

/** @throws OptionError */
export function parseCallOptions(value: unknown): LLMOptions {
  return parseOptions(callSchema, emptyIfAbsent(value));
}

/** @throws OptionError */
export function parseTurnOptions(value: unknown): TurnOptions {
  return parseOptions(turnSchema, emptyIfAbsent(value));
}

/** @throws OptionError */
export function parseChatOptions(value: unknown): ChatOptions {
  return parseOptions(chatSchema, emptyIfAbsent(value));
}

/** @throws OptionError */
export function parseExplainOptions(value: unknown): LLMOptions & { prompt?: unknown } {
  return parseOptions(explainSchema, emptyIfAbsent(value));
}

/** Options may be left out, but `null` is a mistake. */
function emptyIfAbsent(value: unknown): unknown {
  return value === undefined ? {} : value;
}
