import { z } from "zod";
import { OptionError } from "../core/errors.js";
import { mergeGeneration, generationLayer } from "../core/generation-options.js";
import { parseOptions } from "../core/validate.js";
import type { Message, TextPart } from "../text/messages.js";
import { chatDefaultsSchema, type ChatOptions } from "./call-options.js";
import { jsonCopy, type MessageRules } from "./message-rules.js";

/** Options that hold for every turn of a chat. */
export type ChatDefaults = Omit<ChatOptions, "system" | "history">;

/** What a chat is: its options and what was said. */
export interface ChatState<Part = TextPart> {
  defaults: ChatDefaults;
  history: Message<Part>[];
}

/** A chat as JSON. */
export interface ChatJSON<Part = TextPart> {
  /** Of this form; 1. */
  version: 1;
  options: ChatDefaults;
  history: Message<Part>[];
}

const jsonSchema = z.strictObject({
  version: z.literal(1).describe("1 (chats saved by this version of the SDK)"),
  options: chatDefaultsSchema,
  history: z.array(z.unknown()),
});

/** @throws OptionError */
export function newChat<Part>(
  rules: MessageRules<Part>,
  { system, history, ...defaults }: ChatOptions<Part>,
): ChatState<Part> {
  // Contradictions are told when the chat is made, not at its first turn.
  if (defaults.ignoreEos !== true) mergeGeneration([generationLayer("chat", defaults)]);
  if (system !== undefined && history !== undefined && history.length > 0) {
    throw new OptionError('system and history cannot be given together: make { role: "system" } the first message.', {
      path: "system",
      expected: "nothing where history is given",
      received: system,
    });
  }
  const messages = history === undefined ? [] : copyOfMessages(rules, history, "history");
  return { defaults, history: system === undefined ? messages : [{ role: "system", content: system }, ...messages] };
}

/** @throws OptionError naming what is wrong in a saved chat */
export function chatFromJSON<Part>(rules: MessageRules<Part>, json: unknown): ChatState<Part> {
  let value = json;
  if (typeof json === "string") {
    try {
      value = JSON.parse(json);
    } catch (cause) {
      throw new OptionError(`chat must be the JSON of a chat: ${(cause as Error).message}.`, {
        path: "chat",
        expected: "the JSON of a chat",
        received: json,
        cause,
      });
    }
  }
  const { options, history } = parseOptions(jsonSchema, value, "chat");
  return { defaults: options, history: copyOfMessages(rules, history, "chat.history") };
}

/** The JSON form of a chat; later turns do not change it. */
export function chatToJSON<Part>(rules: MessageRules<Part>, { defaults, history }: ChatState<Part>): ChatJSON<Part> {
  return { version: 1, options: jsonCopy(defaults), history: rules.toJSON(history) };
}

/** A copy of messages, checked; an empty list is fine here. */
function copyOfMessages<Part>(rules: MessageRules<Part>, messages: readonly unknown[], path: string): Message<Part>[] {
  if (messages.length > 0) rules.parse(messages, path);
  return rules.copy(messages);
}
