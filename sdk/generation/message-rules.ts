import type { OptionError } from "../core/errors.js";
import { parseMessages, type Message, type TemplateMessage, type TextPart } from "../text/messages.js";
import type { PromptOptions } from "./call-options.js";

/** What messages of a pipeline are made of, and how a chat keeps them. */
export interface MessageRules<Part = TextPart> {
  /** What a user's message may say, for error messages. */
  readonly content: string;
  /** Checks messages. @throws OptionError naming the field, for example `messages[2].role` */
  parse(value: unknown, path?: string): TemplateMessage<Part>[];
  /** What options of a call add to its prompt; they stand in front of a text. @throws OptionError */
  attachments?(options: PromptOptions): readonly Part[];
  /** The error for attachments beside messages, which say themselves what stands where. */
  attachmentsMisplaced?(options: PromptOptions): OptionError;
  /** A copy of checked messages that nobody else can change. */
  copy(messages: readonly unknown[]): Message<Part>[];
  /** Messages as JSON can hold them. */
  toJSON(messages: readonly Message<Part>[]): Message<Part>[];
}

/** Messages of text. */
export const TEXT_MESSAGES: MessageRules = {
  content: "a string or an array of text parts",
  parse: parseMessages,
  copy: (messages) => jsonCopy(messages) as Message[],
  toJSON: (messages) => jsonCopy(messages) as Message[],
};

/** Copies what JSON can hold; functions and `undefined` are left out. */
export function jsonCopy<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}
