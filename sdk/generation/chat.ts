import { captureCallSite } from "../core/call-site.js";
import { BusyError, OptionError } from "../core/errors.js";
import type { Explanation } from "../core/explain.js";
import { generationLayer } from "../core/generation-options.js";
import type { Lifecycle } from "../core/lifecycle.js";
import type { PipelineStream } from "../core/stream.js";
import { wholeNumber } from "../core/option-schemas.js";
import { parseOptions } from "../core/validate.js";
import type { Message, MessageContent, TextPart } from "../text/messages.js";
import { startAnswer } from "./answer.js";
import { parseTurnOptions, type PromptOptions, type TurnOptions } from "./call-options.js";
import { chatToJSON, type ChatJSON, type ChatState } from "./chat-state.js";
import { explainCall } from "./explain-call.js";
import { jsonCopy, type MessageRules } from "./message-rules.js";
import { checkPrompt } from "./prompt.js";
import type { TextModel } from "./text-model.js";
import type { TextChunk, TextResult } from "./text-result.js";

/**
 * A conversation: it remembers what was said and sends all of it with each turn (what is already computed is reused).
 *
 * One turn at a time: while one runs, `send`, `edit` and `undo` throw BusyError. A turn becomes part of the history when it has
 * ended; one that was cancelled, aborted by its signal, or failed is forgotten altogether, one that was stopped (`stop()`, `break`)
 * is kept with the partial answer.
 *
 * @example
 * ```ts
 * const chat = llm.startChat({ system: "Be brief." });
 * for await (const chunk of chat.send("Hello")) process.stdout.write(chunk.text);
 * ```
 */
export class ChatSession<Part = TextPart> {
  readonly #model: TextModel<Part>;
  readonly #lifecycle: Lifecycle;
  readonly #state: ChatState<Part>;
  #running = false;

  private constructor(model: TextModel<Part>, lifecycle: Lifecycle, state: ChatState<Part>) {
    this.#model = model;
    this.#lifecycle = lifecycle;
    this.#state = state;
  }

  /** @internal @param lifecycle - of the pipeline; turns start through it */
  static open<Part>(model: TextModel<Part>, lifecycle: Lifecycle, state: ChatState<Part>): ChatSession<Part> {
    return new ChatSession(model, lifecycle, state);
  }

  /** Everything said so far, the system message included; a copy. */
  get history(): Message<Part>[] {
    return this.#rules.copy(this.#state.history);
  }

  /** A turn is running. */
  get busy(): boolean {
    return this.#running;
  }

  /**
   * Asks something; the answer comes as a stream, and work starts at once.
   *
   * @param content - the user's message: a string, or an array of parts
   * @throws OptionError, BusyError, DisposedError; everything else comes through the stream
   */
  send(content: MessageContent<Part>, options?: TurnOptions): PipelineStream<TextChunk, TextResult> {
    const callSite = captureCallSite();
    this.#lifecycle.assertUsable("send");
    this.#assertIdle("send");
    const turn = parseTurnOptions(options);
    const message = userMessage(this.#rules, content, "content");
    const { defaults, history } = this.#state;
    const prompt = checkPrompt(this.#rules, [...history, message], this.#promptOptions(turn));
    const layers = [generationLayer("call", turn), generationLayer("chat", defaults)];
    this.#running = true;
    try {
      return startAnswer(
        this.#model,
        this.#lifecycle,
        { prompt, layers, callSite },
        {
          signal: turn.signal,
          onResult: ({ text }, ending) => {
            if (ending !== "cancel") history.push(message, { role: "assistant", content: text });
          },
          onSettled: () => (this.#running = false),
        },
      );
    } catch (error) {
      this.#running = false;
      throw error;
    }
  }

  /**
   * Changes what a message says; the messages after it stay as they are.
   *
   * @param index - into {@link history}
   * @throws OptionError, BusyError
   */
  edit(index: number, content: MessageContent<Part>): void {
    this.#assertIdle("edit");
    const { history } = this.#state;
    if (history.length === 0) {
      throw new OptionError("There is nothing to edit: the chat has no messages yet.", {
        path: "index",
        expected: "the index of a message",
        received: index,
      });
    }
    const at = parseOptions(wholeNumber(0, history.length - 1), index, "index");
    const edited = { ...history[at]!, content };
    this.#rules.parse([edited], "message");
    history[at] = this.#rules.copy([edited])[0]!;
  }

  /**
   * Takes back the last turns: each is a user message and everything after it.
   *
   * @param turns - how many; at least 1. Defaults to 1
   * @throws OptionError if there are not so many, BusyError
   */
  undo(turns = 1): void {
    this.#assertIdle("undo");
    const { history } = this.#state;
    const starts = history.flatMap(({ role }, index) => (role === "user" ? [index] : []));
    const expected = wholeNumber(1, Math.max(1, starts.length), `, the number of turns in the chat`);
    const count = parseOptions(expected, turns, "turns");
    if (count > starts.length) {
      throw new OptionError("There is nothing to undo: the chat has no turns yet.", {
        path: "turns",
        expected: "at most 0",
        received: turns,
      });
    }
    history.length = starts[starts.length - count]!;
  }

  /** A chat with the same history and options, independent from now on. A running turn is not part of it. */
  fork(): ChatSession<Part> {
    this.#lifecycle.assertUsable("fork");
    const { defaults, history } = this.#state;
    return new ChatSession(this.#model, this.#lifecycle, {
      defaults: jsonCopy(defaults),
      history: this.#rules.copy(history),
    });
  }

  /** The chat as JSON, for `JSON.stringify` and `restoreChat` of the pipeline. A running turn is not part of it. */
  toJSON(): ChatJSON<Part> {
    return chatToJSON(this.#rules, this.#state);
  }

  /**
   * Tells every option in force for a turn, with its source; with `content`, also the text that the model would see.
   *
   * @throws OptionError, ModelError, DisposedError
   */
  explain(options?: TurnOptions): Explanation;
  explain(options: TurnOptions | undefined, content: MessageContent<Part>): Promise<Explanation>;
  explain(options?: TurnOptions, content?: MessageContent<Part>): Explanation | Promise<Explanation> {
    this.#lifecycle.assertUsable("explain");
    const model = this.#model;
    const { defaults, history } = this.#state;
    const turn = parseTurnOptions(options);
    const layers = [generationLayer("call", turn), generationLayer("chat", defaults)];
    const promptLayers = [
      { source: "call" as const, values: turn },
      { source: "chat" as const, values: defaults },
    ];
    if (content === undefined) return explainCall(model, layers, promptLayers);
    const message = userMessage(this.#rules, content, "content");
    const prompt = checkPrompt(this.#rules, [...history, message], this.#promptOptions(turn));
    return model.encode(prompt).then((encoded) => explainCall(model, layers, promptLayers, encoded));
  }

  get #rules(): MessageRules<Part> {
    return this.#model.messages;
  }

  /** The turn's options about the prompt, then the chat's. */
  #promptOptions(turn: TurnOptions): PromptOptions {
    const { defaults } = this.#state;
    return {
      tools: turn.tools ?? defaults.tools,
      templateOptions: turn.templateOptions ?? defaults.templateOptions,
      allowControlTokens: turn.allowControlTokens ?? defaults.allowControlTokens,
    };
  }

  #assertIdle(action: string): void {
    if (!this.#running) return;
    throw new BusyError(
      `Cannot ${action}: a turn of this chat is still running. Await its result, stop() or cancel() it first; ` +
        "or fork() the chat for a turn beside it.",
    );
  }
}

function userMessage<Part>(rules: MessageRules<Part>, content: MessageContent<Part>, path: string): Message<Part> {
  const message = { role: "user", content };
  if (content === undefined || content === null) {
    throw new OptionError(`${path} must be ${rules.content}, received ${String(content)}.`, {
      path,
      expected: rules.content,
      received: content,
    });
  }
  rules.parse([message], "message");
  return rules.copy([message])[0]!;
}
