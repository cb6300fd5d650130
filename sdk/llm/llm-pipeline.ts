import { blameCaller, captureCallSite, type CallSite } from "../core/call-site.js";
import type { Explanation } from "../core/explain.js";
import { generationLayer } from "../core/generation-options.js";
import type { NativeGeneratorInfo, NativeGeneratorStats } from "../core/native-types.js";
import type { PipelineStream } from "../core/stream.js";
import { ChatSession } from "./chat.js";
import { chatFromJSON, newChat, type ChatJSON } from "./chat-state.js";
import { generateBatch } from "./batch.js";
import { explainCall } from "./llm-explain.js";
import { loadModel } from "./llm-load.js";
import {
  parseCallOptions,
  parseChatOptions,
  parseExplainOptions,
  parseLLMLoadOptions,
  type ChatOptions,
  type LLMLoadOptions,
  type LLMOptions,
} from "./llm-options.js";
import type { LLMChunk, LLMResult } from "./llm-result.js";
import { LLMSession } from "./llm-session.js";
import { LLMTokenizer } from "./llm-tokenizer.js";
import { checkPrompt, encodePrompt, isBatch, refuseBatch, type Prompt } from "./prompt.js";

/** What a loaded model is: device, attention in force, KV cache, context, times of loading. */
export interface LLMInfo extends Readonly<NativeGeneratorInfo> {
  /** `model_type` of the configuration, or the GGUF architecture. */
  architecture: string;
  /** Tokens the model was made for; 0 = not told. */
  contextLength: number;
  /** Time that `load()` took. */
  loadMs: number;
}

/** Keeps `new LLMPipeline()` from working. */
const INTERNAL = Symbol("LLMPipeline");

/**
 * Text generation with a decoder-only language model.
 *
 * Any number of calls may run at once; they are computed together. `dispose()` gives the memory back.
 *
 * @example
 * ```ts
 * const llm = await LLMPipeline.load("models/SmolLM2-135M-Instruct");
 * const answer = await llm.generate("What is the capital of France?");
 * console.log(answer.text);
 * await llm.dispose();
 * ```
 */
export class LLMPipeline implements AsyncDisposable {
  readonly tokenizer: LLMTokenizer;
  readonly #session: LLMSession;

  private constructor(key: typeof INTERNAL, session: LLMSession) {
    if ((key as unknown) !== INTERNAL) {
      throw new TypeError("LLMPipeline has no public constructor: use await LLMPipeline.load(model, options).");
    }
    this.#session = session;
    this.tokenizer = new LLMTokenizer(session.model);
  }

  /**
   * Loads a model.
   *
   * @param model - a folder with an OpenVINO model (as optimum-intel writes it), a `.gguf` file (any shard of a split one), or a
   * folder with one GGUF model; a path or a `file:` URL
   * @throws OptionError, DeviceError, ModelError, UnsupportedError, NativeError; or the signal's reason
   */
  static async load(model: string | URL, options?: LLMLoadOptions): Promise<LLMPipeline> {
    const callSite = captureCallSite();
    try {
      return new LLMPipeline(INTERNAL, new LLMSession(await loadModel(model, parseLLMLoadOptions(options))));
    } catch (error) {
      throw blameCaller(error, callSite);
    }
  }

  /** What was loaded, and how. */
  get info(): LLMInfo {
    const { generator, facts, loadMs } = this.#session.model;
    const { architecture, contextLength } = facts;
    return { ...generator.info, architecture, contextLength, loadMs };
  }

  /**
   * Answers a prompt: a string, or messages. An array of prompts runs together and gives an array of results in the same order; the
   * seed of prompt *i* is `seed + i`, and if one fails the others are ended and the call rejects.
   *
   * @throws OptionError, ContextLengthError, ModelError, DisposedError, NativeError; or the signal's reason
   */
  async generate(prompt: Prompt, options?: LLMOptions): Promise<LLMResult>;
  async generate(prompts: readonly Prompt[], options?: LLMOptions): Promise<LLMResult[]>;
  async generate(prompt: Prompt | readonly Prompt[], options?: LLMOptions): Promise<LLMResult | LLMResult[]>;
  async generate(prompt: Prompt | readonly Prompt[], options?: LLMOptions): Promise<LLMResult | LLMResult[]> {
    const callSite = captureCallSite();
    this.#session.lifecycle.assertUsable("generate");
    const parsed = parseCallOptions(options);
    if (isBatch(prompt)) return generateBatch(this.#session, prompt, parsed, callSite);
    return this.#start(prompt, parsed, callSite, true).result;
  }

  /**
   * Answers a prompt and gives the answer as it comes. The work starts at once; wrong options throw here.
   *
   * @throws OptionError, DisposedError; everything else comes through the stream
   */
  stream(prompt: Prompt, options?: LLMOptions): PipelineStream<LLMChunk, LLMResult> {
    const callSite = captureCallSite();
    this.#session.lifecycle.assertUsable("stream");
    if (isBatch(prompt)) throw refuseBatch(prompt);
    return this.#start(prompt, parseCallOptions(options), callSite, false);
  }

  /**
   * Begins a chat. Chats of one pipeline are independent and may run at the same time.
   *
   * @throws OptionError, DisposedError
   */
  startChat(options?: ChatOptions): ChatSession {
    this.#session.lifecycle.assertUsable("start a chat");
    return new ChatSession(this.#session, newChat(parseChatOptions(options)));
  }

  /**
   * Goes on with a chat that was saved by {@link ChatSession.toJSON}.
   *
   * @param json - the object (or its JSON text)
   * @throws OptionError naming what is wrong in it, DisposedError
   */
  restoreChat(json: ChatJSON | string): ChatSession {
    this.#session.lifecycle.assertUsable("restore a chat");
    return new ChatSession(this.#session, chatFromJSON(json));
  }

  /**
   * Tells every option in force for a call with these options, where each comes from, and what has no effect. With a `prompt`, also
   * the text that the model would see and its tokens.
   *
   * @throws OptionError, ModelError, DisposedError
   */
  explain(options?: LLMOptions): Explanation;
  explain(options: LLMOptions & { prompt: Prompt }): Promise<Explanation>;
  explain(options?: LLMOptions & { prompt?: Prompt }): Explanation | Promise<Explanation> {
    this.#session.lifecycle.assertUsable("explain");
    const { model } = this.#session;
    const { prompt, ...parsed } = parseExplainOptions(options);
    const layers = [generationLayer("call", parsed)];
    const promptLayers = [{ source: "call" as const, values: parsed }];
    if (prompt === undefined) return explainCall(model, layers, promptLayers);
    return encodePrompt(model, checkPrompt(prompt, parsed)).then((encoded) =>
      explainCall(model, layers, promptLayers, encoded),
    );
  }

  /** Counters of the engine: requests, inferences, KV cache. */
  stats(): NativeGeneratorStats {
    this.#session.lifecycle.assertUsable("read stats");
    return this.#session.model.generator.stats();
  }

  /** Ends running calls (they reject with DisposedError), then gives all memory back. A second call does nothing more. */
  dispose(): Promise<void> {
    return this.#session.lifecycle.dispose();
  }

  /** Same as {@link dispose}; for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  #start(
    prompt: unknown,
    options: LLMOptions,
    callSite: CallSite,
    resultOnly: boolean,
  ): PipelineStream<LLMChunk, LLMResult> {
    const { signal } = options;
    const layers = [generationLayer("call", options)];
    return this.#session.start({ prompt: checkPrompt(prompt, options), layers, callSite, resultOnly }, { signal });
  }
}
