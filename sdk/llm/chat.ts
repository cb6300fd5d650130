import { captureCallSite } from "../core/call-site.js";
import { BusyError, OptionError } from "../core/errors.js";
import type { Explanation } from "../core/explain.js";
import { generationLayer } from "../core/generation-options.js";
import type { PipelineStream } from "../core/stream.js";
import { wholeNumber } from "../core/option-schemas.js";
import { parseOptions } from "../core/validate.js";
import { parseMessages, type Message, type MessageContent } from "../text/messages.js";
import { chatToJSON, jsonCopy, type ChatJSON, type ChatState } from "./chat-state.js";
import { explainCall } from "./llm-explain.js";
import { parseTurnOptions, type PromptOptions, type TurnOptions } from "./llm-options.js";
import type { LLMChunk, LLMResult } from "./llm-result.js";
import type { LLMSession } from "./llm-session.js";
import { checkPrompt, encodePrompt } from "./prompt.js";

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
export class ChatSession {
  readonly #session: LLMSession;
  readonly #state: ChatState;
  #running = false;

  /** @internal */
  constructor(session: LLMSession, state: ChatState) {
    this.#session = session;
    this.#state = state;
  }

  /** Everything said so far, the system message included; a copy. */
  get history(): Message[] {
    return jsonCopy(this.#state.history);
  }

  /** A turn is running. */
  get busy(): boolean {
    return this.#running;
  }

  /**
   * Asks something; the answer comes as a stream, and work starts at once.
   *
   * @param content - the user's message: a string, or an array of text parts
   * @throws OptionError, BusyError, DisposedError; everything else comes through the stream
   */
  send(content: MessageContent, options?: TurnOptions): PipelineStream<LLMChunk, LLMResult> {
    const callSite = captureCallSite();
    this.#session.lifecycle.assertUsable("send");
    this.#assertIdle("send");
    const turn = parseTurnOptions(options);
    const message = userMessage(content, "content");
    const { defaults, history } = this.#state;
    const prompt = checkPrompt([...history, message], this.#promptOptions(turn));
    const layers = [generationLayer("call", turn), generationLayer("chat", defaults)];
    this.#running = true;
    try {
      return this.#session.start(
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
  edit(index: number, content: MessageContent): void {
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
    parseMessages([edited], "message");
    history[at] = jsonCopy(edited);
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
  fork(): ChatSession {
    this.#session.lifecycle.assertUsable("fork");
    return new ChatSession(this.#session, jsonCopy(this.#state));
  }

  /** The chat as JSON, for `JSON.stringify` and `LLMPipeline.restoreChat`. A running turn is not part of it. */
  toJSON(): ChatJSON {
    return chatToJSON(this.#state);
  }

  /**
   * Tells every option in force for a turn, with its source; with `content`, also the text that the model would see.
   *
   * @throws OptionError, ModelError, DisposedError
   */
  explain(options?: TurnOptions): Explanation;
  explain(options: TurnOptions | undefined, content: MessageContent): Promise<Explanation>;
  explain(options?: TurnOptions, content?: MessageContent): Explanation | Promise<Explanation> {
    this.#session.lifecycle.assertUsable("explain");
    const { model } = this.#session;
    const { defaults, history } = this.#state;
    const turn = parseTurnOptions(options);
    const layers = [generationLayer("call", turn), generationLayer("chat", defaults)];
    const promptLayers = [
      { source: "call" as const, values: turn },
      { source: "chat" as const, values: defaults },
    ];
    if (content === undefined) return explainCall(model, layers, promptLayers);
    const prompt = checkPrompt([...history, userMessage(content, "content")], this.#promptOptions(turn));
    return encodePrompt(model, prompt).then((encoded) => explainCall(model, layers, promptLayers, encoded));
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

function userMessage(content: MessageContent, path: string): Message {
  const message = { role: "user", content };
  if (content === undefined || content === null) {
    throw new OptionError(`${path} must be a string or an array of text parts, received ${String(content)}.`, {
      path,
      expected: "a string or an array of text parts",
      received: content,
    });
  }
  parseMessages([message], "message");
  return jsonCopy(message) as Message;
}
