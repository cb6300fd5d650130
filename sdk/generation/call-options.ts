import { z } from "zod";
import { generationOptionFields, type GenerationOptions } from "../core/generation-options.js";
import { flag, signal } from "../core/option-schemas.js";
import { parseOptions } from "../core/validate.js";
import type { Message, TextPart, ToolDefinition } from "../text/messages.js";

/** How a prompt becomes the text that the model sees. */
export interface PromptOptions {
  /**
   * Put the prompt through the model's chat template, a string as one user message. `false` gives the model the string as it
   * is. Defaults to `true`.
   */
  applyChatTemplate?: boolean | undefined;
  /** Functions that the model may call, as OpenAI writes them; the chat template prints them. */
  tools?: readonly ToolDefinition[] | undefined;
  /** Further variables for the chat template, for example `{ enable_thinking: false }`. */
  templateOptions?: Record<string, unknown> | undefined;
  /**
   * Read control tokens (`<|im_start|>`) in message texts as such. By default they are plain text, so that what a user types
   * cannot open a turn. Defaults to `false` for messages; a raw prompt (`applyChatTemplate: false`) reads them always unless
   * this is `false`.
   */
  allowControlTokens?: boolean | undefined;
}

/** Options of one call of a pipeline that answers in text. */
export interface CallOptions extends GenerationOptions, PromptOptions {
  /** Ends the call; it rejects with the signal's reason once native work has ended. */
  signal?: AbortSignal | undefined;
}

/** Options of a chat; they hold for every turn unless the turn says otherwise. */
export interface ChatOptions<Part = TextPart> extends GenerationOptions, Omit<PromptOptions, "applyChatTemplate"> {
  /** Instructions to the model, put before the first turn. */
  system?: string | undefined;
  /** Messages to begin with. Not together with `system` (make it the first message). */
  history?: readonly Message<Part>[] | undefined;
}

/** Options of one turn of a chat. */
export type TurnOptions = Omit<CallOptions, "applyChatTemplate">;

const plainObject = z.record(z.string(), z.unknown()).describe("an object");

// Tool definitions and messages themselves are checked where they are used; here it counts that they are lists.
const toolsField: z.ZodType = z.array(plainObject).describe("an array of tool definitions (objects)");
const historyField: z.ZodType = z.array(z.unknown());

const promptFields = {
  tools: (toolsField as z.ZodType<ToolDefinition[]>).optional(),
  templateOptions: plainObject.optional(),
  allowControlTokens: flag.optional(),
};

/** Fields of the schema of a call; pipelines add their own and make it strict. */
export const callOptionFields = {
  ...generationOptionFields,
  ...promptFields,
  applyChatTemplate: flag.optional(),
  signal: signal.optional(),
};

const turnSchema = z.strictObject(callOptionFields).omit({ applyChatTemplate: true });

/** What a chat keeps of its options; all of it can be written as JSON. */
export const chatDefaultsSchema = z.strictObject({ ...generationOptionFields, ...promptFields });

const chatSchema = chatDefaultsSchema.extend({
  system: z.string().optional(),
  history: (historyField as z.ZodType<Message<never>[]>).optional(),
});

/** How a pipeline's calls are checked. */
export interface CallRules<Options extends CallOptions> {
  /** @throws OptionError */
  parse(value: unknown): Options;
  /** The same with a `prompt` among the options. @throws OptionError */
  parseExplain(value: unknown): Options & { prompt?: unknown };
}

/**
 * Rules for calls that have these options.
 *
 * @param schema - strict, made of {@link callOptionFields} and the pipeline's own
 */
export function callRules<Options extends CallOptions>(schema: z.ZodObject): CallRules<Options> {
  const explainSchema = schema.extend({ prompt: z.unknown().optional() });
  return {
    parse: (value) => parseOptions(schema, emptyIfAbsent(value)) as Options,
    parseExplain: (value) => parseOptions(explainSchema, emptyIfAbsent(value)) as Options & { prompt?: unknown },
  };
}

/** @throws OptionError */
export function parseTurnOptions(value: unknown): TurnOptions {
  return parseOptions(turnSchema, emptyIfAbsent(value));
}

/** @throws OptionError */
export function parseChatOptions<Part>(value: unknown): ChatOptions<Part> {
  return parseOptions(chatSchema, emptyIfAbsent(value));
}

/** Options may be left out, but `null` is a mistake. */
function emptyIfAbsent(value: unknown): unknown {
  return value === undefined ? {} : value;
}
