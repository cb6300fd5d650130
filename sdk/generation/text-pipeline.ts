import { captureCallSite, type CallSite } from "../core/call-site.js";
import type { Explanation } from "../core/explain.js";
import { generationLayer } from "../core/generation-options.js";
import type { NativeGeneratorInfo, NativeGeneratorStats } from "../core/native-types.js";
import { Pipeline, type INTERNAL } from "../core/pipeline.js";
import type { PipelineStream } from "../core/stream.js";
import type { TextPart } from "../text/messages.js";
import { startAnswer } from "./answer.js";
import { generateBatch } from "./batch.js";
import { parseChatOptions, type CallOptions, type CallRules, type ChatOptions } from "./call-options.js";
import { ChatSession } from "./chat.js";
import { chatFromJSON, newChat, type ChatJSON } from "./chat-state.js";
import { explainCall } from "./explain-call.js";
import { ModelTokenizer } from "./model-tokenizer.js";
import { checkPrompt, isBatch, refuseBatch, type Prompt } from "./prompt.js";
import type { TextModel } from "./text-model.js";
import type { TextChunk, TextResult } from "./text-result.js";

/** What a loaded model is: device, attention in force, KV cache, context, times of loading. */
export interface TextPipelineInfo extends Readonly<NativeGeneratorInfo> {
  /** `model_type` of the configuration, or the GGUF architecture. */
  architecture: string;
  /** Tokens the model was made for; 0 = not told. */
  contextLength: number;
  /** Time that `load()` took. */
  loadMs: number;
}

/**
 * What all pipelines that answer in text have in common: calls, streams, chats, `explain()`. Any number of calls may run at
 * once; they are computed together. `dispose()` gives the memory back.
 */
export abstract class TextPipeline<Part = TextPart, Options extends CallOptions = CallOptions> extends Pipeline {
  readonly tokenizer: ModelTokenizer<Part>;
  readonly #model: TextModel<Part>;
  readonly #rules: CallRules<Options>;

  /** @hidden */
  protected constructor(key: typeof INTERNAL, model: TextModel<Part>, rules: CallRules<Options>) {
    super(key, model);
    this.#model = model;
    this.#rules = rules;
    this.tokenizer = new ModelTokenizer(model);
  }

  /** What was loaded, and how. */
  get info(): TextPipelineInfo {
    const { generator, facts, loadMs } = this.#model;
    const { architecture, contextLength } = facts;
    return { ...generator.info, architecture, contextLength, loadMs };
  }

  /**
   * Answers a prompt: a string, or messages. An array of prompts runs together and gives an array of results in the same order; the
   * seed of prompt *i* is `seed + i`, and if one fails the others are ended and the call rejects. No prompts give no results.
   *
   * @throws OptionError, ContextLengthError, ModelError, DisposedError, NativeError; or the signal's reason
   */
  // `[]` would be a conversation of no messages otherwise.
  async generate(prompts: readonly [], options?: Options): Promise<TextResult[]>;
  async generate(prompt: Prompt<Part>, options?: Options): Promise<TextResult>;
  // eslint-disable-next-line @typescript-eslint/unified-signatures -- the order of the overloads matters
  async generate(prompts: readonly Prompt<Part>[], options?: Options): Promise<TextResult[]>;
  async generate(prompt: Prompt<Part> | readonly Prompt<Part>[], options?: Options): Promise<TextResult | TextResult[]>;
  async generate(
    prompt: Prompt<Part> | readonly Prompt<Part>[],
    options?: Options,
  ): Promise<TextResult | TextResult[]> {
    const callSite = captureCallSite();
    this.lifecycle.assertUsable("generate");
    const parsed = this.#rules.parse(options);
    if (isBatch(prompt)) return generateBatch(this.#model, this.lifecycle, prompt, parsed, callSite);
    return this.#start(prompt, parsed, callSite, true).result;
  }

  /**
   * Answers a prompt and gives the answer as it comes. The work starts at once; wrong options throw here.
   *
   * @throws OptionError, DisposedError; everything else comes through the stream
   */
  stream(prompt: Prompt<Part>, options?: Options): PipelineStream<TextChunk, TextResult> {
    const callSite = captureCallSite();
    this.lifecycle.assertUsable("stream");
    if (isBatch(prompt)) throw refuseBatch(prompt);
    return this.#start(prompt, this.#rules.parse(options), callSite, false);
  }

  /**
   * Begins a chat. Chats of one pipeline are independent and may run at the same time.
   *
   * @throws OptionError, DisposedError
   */
  startChat(options?: ChatOptions<Part>): ChatSession<Part> {
    this.lifecycle.assertUsable("start a chat");
    return ChatSession.open(this.#model, this.lifecycle, newChat(this.#model.messages, parseChatOptions(options)));
  }

  /**
   * Goes on with a chat that was saved by {@link ChatSession.toJSON}.
   *
   * @param json - the object (or its JSON text)
   * @throws OptionError naming what is wrong in it, DisposedError
   */
  restoreChat(json: ChatJSON<Part> | string): ChatSession<Part> {
    this.lifecycle.assertUsable("restore a chat");
    return ChatSession.open(this.#model, this.lifecycle, chatFromJSON(this.#model.messages, json));
  }

  /**
   * Tells every option in force for a call with these options, where each comes from, and what has no effect. With a `prompt`, also
   * the text that the model would see and its tokens.
   *
   * @throws OptionError, ModelError, DisposedError
   */
  explain(options?: Options): Explanation;
  explain(options: Options & { prompt: Prompt<Part> }): Promise<Explanation>;
  explain(options?: Options & { prompt?: Prompt<Part> }): Explanation | Promise<Explanation> {
    this.lifecycle.assertUsable("explain");
    const model = this.#model;
    const { prompt, ...rest } = this.#rules.parseExplain(options);
    const parsed = rest as Options;
    const layers = [generationLayer("call", parsed)];
    const promptLayers = [{ source: "call" as const, values: parsed }];
    if (prompt === undefined) return explainCall(model, layers, promptLayers);
    return model
      .encode(this.#check(prompt, parsed))
      .then((encoded) => explainCall(model, layers, promptLayers, encoded));
  }

  /** Counters of the engine: requests, inferences, KV cache. */
  stats(): NativeGeneratorStats {
    this.lifecycle.assertUsable("read stats");
    return this.#model.generator.stats();
  }

  #check(prompt: unknown, options: Options) {
    return checkPrompt(this.#model.messages, prompt, options);
  }

  #start(
    prompt: unknown,
    options: Options,
    callSite: CallSite,
    resultOnly: boolean,
  ): PipelineStream<TextChunk, TextResult> {
    const { signal } = options;
    const layers = [generationLayer("call", options)];
    const call = { prompt: this.#check(prompt, options), layers, callSite, resultOnly };
    return startAnswer(this.#model, this.lifecycle, call, { signal });
  }
}
