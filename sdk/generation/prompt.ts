import { OptionError } from "../core/errors.js";
import { showValue } from "../core/validate.js";
import {
  parseTools,
  type Message,
  type TemplateMessage,
  type TextPart,
  type ToolDefinition,
} from "../text/messages.js";
import type { PromptOptions } from "./call-options.js";
import type { MessageRules } from "./message-rules.js";

/** What may be asked: a text (one user message, unless `applyChatTemplate` is false), or a conversation. */
export type Prompt<Part = TextPart> = string | readonly Message<Part>[];

/** A prompt that was checked; what is left is rendering and encoding. */
export type CheckedPrompt<Part = TextPart> =
  | {
      kind: "raw";
      text: string;
      /** Stand where the text has placeholders. */
      attachments: readonly Part[];
      allowControlTokens: boolean;
    }
  | {
      kind: "chat";
      messages: readonly TemplateMessage<Part>[];
      tools: readonly ToolDefinition[] | undefined;
      templateOptions: Record<string, unknown> | undefined;
      allowControlTokens: boolean;
    };

const EXPECTED = "a string, an array of messages, or an array of prompts";

/** True for an array of prompts to be run together (not for one conversation); an empty array is one of no prompts. */
export function isBatch(prompt: unknown): prompt is readonly unknown[] {
  return Array.isArray(prompt) && !isMessageLike(prompt[0]);
}

/**
 * Checks a single prompt.
 *
 * @param path - its name in messages: `prompt`, or `prompt[1]` in a batch
 * @throws OptionError
 */
export function checkPrompt<Part>(
  rules: MessageRules<Part>,
  prompt: unknown,
  options: PromptOptions,
  path = "prompt",
): CheckedPrompt<Part> {
  const { applyChatTemplate = true, allowControlTokens, templateOptions } = options;
  const attachments = rules.attachments?.(options) ?? [];
  if (!applyChatTemplate) {
    refuseTemplateOptions(options);
    if (typeof prompt === "string")
      return { kind: "raw", text: prompt, attachments, allowControlTokens: allowControlTokens ?? true };
    if (Array.isArray(prompt)) {
      throw new OptionError(
        `applyChatTemplate must be true (or left out) for a prompt of messages; pass a string to go without the template.`,
        { path: "applyChatTemplate", expected: "true for a prompt of messages", received: false },
      );
    }
    throw invalid(prompt, path);
  }
  if (typeof prompt !== "string" && !Array.isArray(prompt)) throw invalid(prompt, path);
  const messages = typeof prompt === "string" ? [{ role: "user", content: withText(attachments, prompt) }] : prompt;
  if (attachments.length > 0 && messages === prompt) throw rules.attachmentsMisplaced!(options);
  return {
    kind: "chat",
    messages: rules.parse(messages, path),
    tools: options.tools && parseTools(options.tools),
    templateOptions,
    allowControlTokens: allowControlTokens ?? false,
  };
}

/** What a user's message says: attachments first. */
function withText<Part>(attachments: readonly Part[], text: string): string | readonly (Part | TextPart)[] {
  return attachments.length === 0 ? text : [...attachments, { type: "text", text }];
}

/** What only a chat template can use must not be dropped in silence. */
function refuseTemplateOptions(options: PromptOptions): void {
  for (const name of ["tools", "templateOptions"] as const) {
    if (options[name] === undefined) continue;
    throw new OptionError(`${name} needs the chat template: leave it out, or leave applyChatTemplate: false out.`, {
      path: name,
      expected: "nothing where applyChatTemplate is false",
      received: options[name],
    });
  }
}

function isMessageLike(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalid(prompt: unknown, path: string): OptionError {
  return new OptionError(`${path} must be ${EXPECTED}, received ${showValue(prompt)}.`, {
    path,
    expected: EXPECTED,
    received: prompt,
  });
}

/** For calls that answer one prompt only. */
export function refuseBatch(prompt: readonly unknown[]): OptionError {
  return new OptionError(
    "prompt must be one prompt to be streamed; generate() takes several, or open one stream for each.",
    {
      path: "prompt",
      expected: "a string or an array of messages",
      received: prompt,
    },
  );
}
