import { ModelError, OptionError } from "../core/errors.js";
import { ControlMarks } from "./control-marks.js";
import type { TemplateMessage, TextPart, ToolDefinition } from "./messages.js";
import { fromJavaScript } from "./jinja/from-javascript.js";
import { templateGlobals } from "./jinja/globals.js";
import { TemplateLimit, TemplateRefusal } from "./jinja/template-errors.js";
import { TemplateProgram } from "./template-program.js";
import type { TemplateSource } from "./template-source.js";
import type { Tokenizer } from "./tokenizer.js";

export interface RenderOptions {
  /** Tools that the model may call; the template `tool_use` is taken where the model has one. */
  tools?: readonly ToolDefinition[] | undefined;
  /** End with the opening of the assistant's turn. Defaults to `true`. */
  addGenerationPrompt?: boolean | undefined;
  /** Documents for templates that know retrieval. */
  documents?: readonly unknown[] | undefined;
  /** Further variables of the template, for example `enable_thinking`. */
  templateOptions?: Record<string, unknown> | undefined;
  /** Let control tokens that stand in messages be control tokens. Defaults to `false`: they are plain text. */
  allowControlTokens?: boolean | undefined;
  /** How the prompt is completed where more than text stands in it. */
  media?: MediaPrompt | undefined;
}

/** What becomes of a rendered prompt before it is tokenized, for models that see pictures. */
export interface MediaPrompt {
  /** Spellings that the template prints for pictures: the same words in messages are plain text. */
  spellings: readonly string[];
  /** Stands in front of everything that the template prints. Defaults to nothing. */
  prefix?: string | undefined;
  /** Replaces the template's placeholders by what the model is to see. */
  expand(text: string): string;
}

export interface RenderedChat {
  /** The prompt as text, before placeholders are expanded. */
  text: string;
  /** The template refuses the system role; the system text was put in front of the first user message. */
  foldedSystem: boolean;
}

export interface EncodedChat extends RenderedChat {
  ids: number[];
}

interface Rendered extends RenderedChat {
  /** Text with marks in user-written control tokens. */
  marked: string;
  barrier: string | undefined;
}

/**
 * A model's chat template: messages to prompt. Rendering follows `transformers` (`apply_chat_template`): Jinja with
 * `trim_blocks` and `lstrip_blocks`; the prompt is tokenized without adding special tokens, so BOS is there once where the
 * template prints it, and not at all where it does not.
 */
export class ChatTemplate {
  readonly #source: TemplateSource;
  readonly #tokenizer: Tokenizer;
  readonly #now: () => Date;
  readonly #parsed = new Map<string, TemplateProgram>();
  readonly #takesParts = new Map<string, boolean>();

  /** @param now - clock for templates that print the date */
  constructor(source: TemplateSource, tokenizer: Tokenizer, now: () => Date = () => new Date()) {
    this.#source = source;
    this.#tokenizer = tokenizer;
    this.#now = now;
  }

  /** The error for a model without a chat template. */
  static missing(model: string): ModelError {
    return new ModelError(
      `${model} has no chat template. Pass one as the option chatTemplate, or give the prompt as text with applyChatTemplate: false.`,
      { file: model },
    );
  }

  /** File the template comes from. */
  get file(): string {
    return this.#source.file;
  }

  /** Text of the template used with these options. */
  templateText(options: Pick<RenderOptions, "tools"> = {}): string {
    return this.#source.templates.get(this.#nameFor(options.tools))!;
  }

  /**
   * The prompt as text.
   * @throws OptionError (path `messages`) quoting the template's reason for refusing the messages
   * @throws ModelError where the template itself is broken
   */
  render(messages: readonly TemplateMessage[], options: RenderOptions = {}): RenderedChat {
    const { text, foldedSystem } = this.#render(messages, options);
    return { text, foldedSystem };
  }

  /**
   * The prompt as token ids. Control tokens count as such only where the template printed them. Prompts with `media` get BOS as
   * raw text does, unless it is there (so processors of `transformers` tokenize what templates printed).
   *
   * @throws like `render`, and what `expand` throws
   */
  async encode(messages: readonly TemplateMessage[], options: RenderOptions = {}): Promise<EncodedChat> {
    const { text, foldedSystem, marked, barrier } = this.#render(messages, options);
    const { media } = options;
    const expanded = media ? media.expand(marked) : marked;
    const ids = await this.#tokenizer.encodeAsync(expanded, { addSpecialTokens: media !== undefined, barrier });
    return { text, foldedSystem, ids };
  }

  #render(messages: readonly TemplateMessage[], options: RenderOptions): Rendered {
    const name = this.#nameFor(options.tools);
    const marks = options.allowControlTokens
      ? undefined
      : new ControlMarks(
          this.#tokenizer.controls,
          [messages, options.tools, options.documents, options.templateOptions],
          options.media?.spellings,
        );
    refuseDoubled(options);
    const prefix = options.media?.prefix ?? "";
    const attempt = (list: readonly TemplateMessage[], foldedSystem: boolean): Rendered => {
      const shaped = this.#wantsParts(name)
        ? list.map((message) => withParts(message, options.media !== undefined))
        : list.map(withText);
      const printed = this.#run(name, {
        ...this.#tokenizer.namedTokens,
        tools: (marks ? marks.mark(options.tools) : options.tools) ?? null,
        documents: (marks ? marks.mark(options.documents) : options.documents) ?? null,
        add_generation_prompt: options.addGenerationPrompt ?? true,
        ...(marks ? marks.markEntries(options.templateOptions ?? {}) : options.templateOptions),
        messages: marks ? shaped.map((message) => markMessage(message, marks)) : shaped,
      });
      const marked = prefix + printed;
      return { text: marks ? marks.remove(marked) : marked, foldedSystem, marked, barrier: marks?.barrier };
    };
    try {
      return attempt(messages, false);
    } catch (error) {
      const folded = foldSystem(messages);
      if (!(error instanceof TemplateRefusal) || !folded) throw this.#explain(error, messages);
      try {
        return attempt(folded, true);
      } catch (second) {
        throw this.#explain(second, messages);
      }
    }
  }

  #nameFor(tools: RenderOptions["tools"]): string {
    const { templates, file } = this.#source;
    if (tools && tools.length > 0 && templates.has("tool_use")) return "tool_use";
    if (templates.has("default")) return "default";
    throw new ModelError(
      `${file} has no default chat template, only: ${[...templates.keys()].join(", ")}. Pass one as the option chatTemplate.`,
      { file },
    );
  }

  #run(name: string, variables: Record<string, unknown>): string {
    const values = templateGlobals(this.#now);
    for (const [key, variable] of Object.entries(variables)) {
      const own = key in OWN_VARIABLES ? OWN_VARIABLES[key as keyof typeof OWN_VARIABLES] : `templateOptions.${key}`;
      const value = fromJavaScript(variable, own);
      if (value !== undefined) values.set(key, value);
    }
    return this.#program(name).run(values, extraUnits(variables["messages"]));
  }

  #program(name: string): TemplateProgram {
    let program = this.#parsed.get(name);
    if (!program) {
      const { file, templates } = this.#source;
      try {
        program = new TemplateProgram(templates.get(name)!);
      } catch (cause) {
        throw new ModelError(
          `${file}: the chat template cannot be read: ${(cause as Error).message}. Pass a corrected one as the option chatTemplate.`,
          { file, cause },
        );
      }
      this.#parsed.set(name, program);
    }
    return program;
  }

  /** Whether a template wants content as parts: it prints the text of parts, but not a string's. Tried out once. */
  #wantsParts(name: string): boolean {
    let takesParts = this.#takesParts.get(name);
    if (takesParts === undefined) {
      const probe = "pergola-probe";
      const prints = (content: unknown): boolean => {
        try {
          const messages = [{ role: "user", content }];
          const variables = { messages, tools: null, documents: null, add_generation_prompt: true };
          return this.#run(name, { ...this.#tokenizer.namedTokens, ...variables }).includes(probe);
        } catch (error) {
          // A template that does not end is not asked in another way.
          if (error instanceof TemplateLimit) throw error;
          return false;
        }
      };
      takesParts = !prints(probe) && prints([{ type: "text", text: probe }]);
      this.#takesParts.set(name, takesParts);
    }
    return takesParts;
  }

  #explain(error: unknown, messages: readonly TemplateMessage[]): unknown {
    if (error instanceof ModelError || error instanceof OptionError) return error;
    if (error instanceof TemplateRefusal) {
      return new OptionError(`The model's chat template refuses these messages: ${error.message}`, {
        path: "messages",
        expected: "messages that the model's chat template accepts",
        received: messages,
        cause: error,
      });
    }
    const { file } = this.#source;
    if (error instanceof TemplateLimit) {
      return new ModelError(
        `${file}: the chat template was ended: ${error.message}. Pass another one as the option chatTemplate.`,
        { file, cause: error },
      );
    }
    const reason = error instanceof Error ? error.message : String(error);
    return new ModelError(
      `${file}: the chat template failed: ${reason.replace(/\.$/, "")}. Pass a corrected one as the option chatTemplate.`,
      { file, cause: error },
    );
  }
}

/** Content as one text, unless there are parts of another type. */
function withText(message: TemplateMessage): TemplateMessage {
  const { content } = message;
  if (typeof content === "string" || content.some((part) => part.type !== "text")) return message;
  return { ...message, content: content.map((part) => part.text).join("") };
}

/**
 * Content as parts.
 *
 * @param apart - leave texts side by side as they are; else they become one, as they do for templates that want a text
 */
function withParts(message: TemplateMessage, apart: boolean): TemplateMessage {
  if (typeof message.content === "string") return { ...message, content: [{ type: "text", text: message.content }] };
  if (apart) return message;
  const parts: TextPart[] = [];
  for (const part of message.content) {
    const last = parts.at(-1);
    if (last && part.type === "text") parts[parts.length - 1] = { ...last, text: last.text + part.text };
    else parts.push(part);
  }
  return { ...message, content: parts };
}

/** Marks a message; texts side by side are looked at as one, so that no control token can be put together from two. */
function markMessage(message: TemplateMessage, marks: ControlMarks): TemplateMessage {
  // In place: templates may print a message as it came, with its fields in their order.
  return { ...marks.mark(message), role: message.role, content: markContent(message.content, marks) };
}

function markContent(content: TemplateMessage["content"], marks: ControlMarks): TemplateMessage["content"] {
  if (typeof content === "string") return marks.mark(content);
  const parts: TextPart[] = [];
  for (let from = 0; from < content.length;) {
    let to = from;
    while (to < content.length && content[to]!.type === "text") to++;
    const texts = marks.markAll(content.slice(from, to).map((part) => part.text));
    for (const [index, text] of texts.entries()) parts.push({ ...marks.mark(content[from + index]!), text });
    if (to < content.length) parts.push({ ...marks.mark(content[to]!), type: content[to]!.type });
    from = to + 1;
  }
  return parts;
}

/** The messages with all system texts in front of the first user message's; `undefined` where that is impossible. */
function foldSystem(messages: readonly TemplateMessage[]): TemplateMessage[] | undefined {
  const system = messages.filter((message) => message.role === "system").map((message) => textOf(message.content));
  const rest = messages.filter((message) => message.role !== "system");
  const first = rest.findIndex((message) => message.role === "user");
  if (system.length === 0 || first < 0) return undefined;
  const { content } = rest[first]!;
  const prefix = `${system.join("\n\n")}\n\n`;
  const folded = typeof content === "string" ? prefix + content : [{ type: "text" as const, text: prefix }, ...content];
  return rest.map((message, index) => (index === first ? { ...message, content: folded } : message));
}

function textOf(content: TemplateMessage["content"]): string {
  return typeof content === "string" ? content : content.map((part) => part.text).join("");
}

/** Paths of what is not an option of the template, for messages. */
const OWN_VARIABLES = { messages: "messages", tools: "tools", documents: "documents" };

/** What a long conversation may cost beyond what every rendering may: some hundred units a message, and its text's size. */
function extraUnits(messages: unknown): number {
  const list = messages as readonly TemplateMessage[];
  const characters = list.reduce((sum, message) => sum + textOf(message.content).length, 0);
  return list.length * 500 + characters;
}

/** The same thing in two places: one of them would be lost. */
function refuseDoubled({ templateOptions = {}, tools, documents }: RenderOptions): void {
  const given = { messages: true, tools: (tools?.length ?? 0) > 0, documents: documents !== undefined };
  for (const [name, isGiven] of Object.entries(given)) {
    if (!isGiven || templateOptions[name] === undefined) continue;
    const path = `templateOptions.${name}`;
    throw new OptionError(
      `${path} must be left out: ${name === "messages" ? "the messages are the prompt" : `${name} are an option of their own`}.`,
      {
        path,
        expected: "nothing",
        received: templateOptions[name],
      },
    );
  }
}
