import { z } from "zod";
import { OptionError } from "../core/errors.js";
import { parseOptions, showValue } from "../core/validate.js";

/** A piece of text in a message. */
export interface TextPart {
  type: "text";
  text: string;
}

/** What a message says: a string, or parts (of other types too, where a pipeline understands them). */
export type MessageContent<Part = TextPart> = string | Part[];

/** A call of a tool by the assistant, as OpenAI writes it. */
export interface ToolCall {
  id?: string | undefined;
  type?: "function" | undefined;
  function: {
    name: string;
    /** An object, or the same as JSON text; empty text and `null` mean no arguments. */
    arguments?: Record<string, unknown> | string | null | undefined;
  };
}

export interface SystemMessage<Part = TextPart> {
  /** `developer` is OpenAI's newer name of the same role. */
  role: "system" | "developer";
  content: MessageContent<Part>;
}

export interface UserMessage<Part = TextPart> {
  role: "user";
  content: MessageContent<Part>;
  name?: string | undefined;
}

export interface AssistantMessage<Part = TextPart> {
  role: "assistant";
  /** May be missing or `null` where there are tool calls. */
  content?: MessageContent<Part> | null | undefined;
  /** What the model thought before it answered; some templates print it. */
  reasoning_content?: string | undefined;
  tool_calls?: ToolCall[] | undefined;
}

export interface ToolMessage<Part = TextPart> {
  role: "tool";
  content: MessageContent<Part>;
  tool_call_id?: string | undefined;
  name?: string | undefined;
}

/**
 * One message of a conversation, in the shape that OpenAI's chat API made common. Further fields are handed to the chat
 * template as they are.
 */
export type Message<Part = TextPart> =
  SystemMessage<Part> | UserMessage<Part> | AssistantMessage<Part> | ToolMessage<Part>;

/** A tool that the model may call, as OpenAI writes it. */
export interface ToolDefinition {
  type: "function";
  function: {
    name: string;
    description?: string | undefined;
    /** JSON Schema of the arguments. */
    parameters?: Record<string, unknown> | undefined;
  };
}

/** A message as chat templates get it: `developer` is `system`, content is never null, tool arguments are objects. */
export interface TemplateMessage<Part = TextPart> {
  role: "system" | "user" | "assistant" | "tool";
  content: MessageContent<Part>;
  tool_calls?: { function: { name: string; arguments: Record<string, unknown> }; [field: string]: unknown }[];
  [field: string]: unknown;
}

/** Schema of a text part. */
export const textPartSchema = z.looseObject({ type: z.literal("text"), text: z.string() });

const toolCallSchema = z.looseObject({
  id: z.string().optional(),
  type: z.literal("function").optional(),
  function: z.looseObject({
    name: z.string().min(1),
    arguments: z.union([z.record(z.string(), z.unknown()), z.string()]).nullish(),
  }),
});

/** Schema of a list of messages whose content parts follow `partSchema`. */
export function messagesSchema<Schema extends z.ZodType>(partSchema: Schema) {
  const content = z.union([z.string(), z.array(partSchema)]);
  return z
    .array(
      z.discriminatedUnion("role", [
        z.looseObject({ role: z.enum(["system", "developer"]), content }),
        z.looseObject({ role: z.literal("user"), content }),
        z.looseObject({
          role: z.literal("assistant"),
          content: content.nullish(),
          reasoning_content: z.string().nullish(),
          tool_calls: z.array(toolCallSchema).nullish(),
        }),
        z.looseObject({ role: z.literal("tool"), content, tool_call_id: z.string().nullish() }),
      ]),
    )
    .min(1);
}

const toolsSchema = z.array(
  z.looseObject({
    type: z.literal("function"),
    function: z.looseObject({
      name: z.string().min(1),
      description: z.string().optional(),
      parameters: z.record(z.string(), z.unknown()).optional(),
    }),
  }),
);

const textMessagesSchema = messagesSchema(textPartSchema);

/**
 * Checks messages and brings them into the form that chat templates expect.
 *
 * @param path - name of the value in error messages
 * @throws OptionError naming the field, for example `messages[2].role`
 */
export function parseMessages(value: unknown, path = "messages"): TemplateMessage[] {
  refuseImages(value, path);
  return parseMessagesWith(textMessagesSchema, value, path);
}

/** The same for messages with other content parts; `schema` is made by {@link messagesSchema}. */
export function parseMessagesWith<Part = TextPart>(
  schema: ReturnType<typeof messagesSchema>,
  value: unknown,
  path = "messages",
): TemplateMessage<Part>[] {
  checkRoles(value, path);
  const messages = inOrderOf(value, parseOptions(schema, value, path)) as Record<string, unknown>[];
  return messages.map((message, index) => toTemplateMessage(message, `${path}[${index}]`) as TemplateMessage<Part>);
}

/** Checks tool definitions. @throws OptionError naming the field, for example `tools[0].function.name` */
export function parseTools(value: unknown, path = "tools"): ToolDefinition[] {
  return inOrderOf(value, parseOptions(toolsSchema, value, path));
}

/** Pictures in messages are meant for another pipeline: a schema's message would only say that they are no text. */
function refuseImages(value: unknown, path: string): void {
  if (!Array.isArray(value)) return;
  for (const [index, message] of (value as { content?: unknown }[]).entries()) {
    const parts = Array.isArray(message?.content) ? (message.content as { type?: unknown }[]) : [];
    const at = parts.findIndex((part) => part?.type === "image" || part?.type === "image_url");
    if (at < 0) continue;
    const received = parts[at]!.type;
    const partPath = `${path}[${index}].content[${at}].type`;
    throw new OptionError(
      `${partPath} must be "text", received ${showValue(received)}: this model reads text only. Pictures need VLMPipeline and a vision model.`,
      { path: partPath, expected: '"text"', received },
    );
  }
}

const ROLES = ["system", "developer", "user", "assistant", "tool"];

/** Roles and the empty list first: what a union's own message says about them helps nobody. */
function checkRoles(value: unknown, path: string): void {
  if (!Array.isArray(value)) return;
  if (value.length === 0) {
    throw new OptionError(`${path} is empty; pass at least one message, for example { role: "user", content: "Hi" }.`, {
      path,
      expected: "at least one message",
      received: value,
    });
  }
  for (const [index, message] of (value as unknown[]).entries()) {
    if (message === null || typeof message !== "object") continue;
    const role = (message as { role?: unknown }).role;
    if (ROLES.includes(role as string)) continue;
    const expected = `one of ${ROLES.join(", ")}`;
    throw new OptionError(`${path}[${index}].role must be ${expected}, received ${showValue(role)}.`, {
      path: `${path}[${index}].role`,
      expected,
      received: role,
    });
  }
}

/**
 * What was parsed, with the keys of objects in the order in which they were given: a schema puts those that it knows in front, and
 * templates may print whole messages and tools.
 */
function inOrderOf<Parsed>(given: unknown, parsed: Parsed): Parsed {
  if (Array.isArray(parsed)) {
    return parsed.map((entry: unknown, index) => inOrderOf((given as unknown[])[index], entry)) as Parsed;
  }
  if (parsed === null || typeof parsed !== "object" || given === null || typeof given !== "object") return parsed;
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(given)) {
    if (!(key in parsed)) continue;
    const entry = inOrderOf((given as Record<string, unknown>)[key], (parsed as Record<string, unknown>)[key]);
    Object.defineProperty(result, key, { value: entry, enumerable: true, configurable: true, writable: true });
  }
  return result as Parsed;
}

function toTemplateMessage(message: Record<string, unknown>, path: string): TemplateMessage {
  const { role, content, tool_calls: calls } = message;
  const toolCalls = (calls ?? []) as ToolCall[];
  if ((content === null || content === undefined) && toolCalls.length === 0) {
    throw new OptionError(`${path}.content must be text: it may be missing only where the assistant calls tools.`, {
      path: `${path}.content`,
      expected: "a string or an array of parts",
      received: content,
    });
  }
  const fields = Object.entries(message).filter(([, field]) => field !== undefined && field !== null);
  const result = Object.fromEntries(fields) as TemplateMessage;
  result.role = (role === "developer" ? "system" : role) as TemplateMessage["role"];
  result.content = (content ?? "") as MessageContent;
  if (toolCalls.length === 0) delete result.tool_calls;
  else {
    result.tool_calls = toolCalls.map((call, index) => ({
      ...call,
      function: {
        ...call.function,
        arguments: parseArguments(call.function.arguments, `${path}.tool_calls[${index}].function.arguments`),
      },
    }));
  }
  return result;
}

/** Templates iterate over arguments or print them as JSON themselves: text is parsed once, before. */
function parseArguments(value: ToolCall["function"]["arguments"], path: string): Record<string, unknown> {
  if (value === null || value === undefined) return {};
  if (typeof value !== "string") return value;
  if (value.trim() === "") return {};
  let parsed: unknown;
  let reason = "";
  try {
    parsed = JSON.parse(value);
  } catch (error) {
    reason = ` (${(error as Error).message})`;
  }
  if (parsed === null || typeof parsed !== "object" || Array.isArray(parsed)) {
    throw new OptionError(`${path} must be an object or the JSON text of one, received ${showValue(value)}${reason}.`, {
      path,
      expected: "an object or the JSON text of one",
      received: value,
    });
  }
  return parsed as Record<string, unknown>;
}
