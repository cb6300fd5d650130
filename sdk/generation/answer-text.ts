import type { GenerationSettings } from "../core/generation-options.js";
import type { TokenLogprobs } from "../core/job.js";
import type { MetricsClock } from "../core/metrics.js";
import { TextStream } from "../text/text-stream.js";
import type { Tokenizer } from "../text/tokenizer.js";
import type { TextChunk, TokenLogprob } from "./text-result.js";

export interface AnswerTextOptions {
  /** The answer continues a raw text, so that the space before its first word counts. */
  continuation: boolean;
  clock: MetricsClock;
  push(chunk: TextChunk): void;
}

/** Collects an answer from its tokens, and hands on each piece of text that is certain, with its tokens. */
export class AnswerText {
  /** Everything handed on so far. */
  text = "";
  /** Up to and including the token that completed a stop string. */
  readonly tokens: number[] = [];
  readonly logprobs: TokenLogprob[] = [];
  readonly #tokenizer: Tokenizer;
  readonly #stream: TextStream;
  readonly #options: AnswerTextOptions;
  readonly #wantsLogprobs: boolean;
  /** Tokens handed on so far. */
  #sent = 0;
  #stopped = false;

  constructor(tokenizer: Tokenizer, settings: GenerationSettings, options: AnswerTextOptions) {
    this.#tokenizer = tokenizer;
    this.#options = options;
    this.#wantsLogprobs = settings.logprobs;
    this.#stream = new TextStream(tokenizer, {
      stops: settings.stop,
      includeStopString: settings.includeStopString,
      continuation: options.continuation,
    });
  }

  /** A stop string was found; what comes later is dropped. */
  get stopped(): boolean {
    return this.#stopped;
  }

  push(ids: readonly number[], logprobs?: readonly TokenLogprobs[]): void {
    if (this.#stopped) return;
    this.#options.clock.measure("detokenize", () => {
      const before = this.#stream.tokens;
      const { text, stopped } = this.#stream.push(ids);
      this.#stopped = stopped;
      const taken = this.#stream.tokens - before;
      for (let index = 0; index < taken; index++) {
        this.tokens.push(ids[index]!);
        if (this.#wantsLogprobs && logprobs?.[index]) this.logprobs.push(this.#named(ids[index]!, logprobs[index]!));
      }
      if (text !== "") this.#send(text);
    });
  }

  /** The end of the tokens: hands on what was held back. */
  finish(): void {
    const { text } = this.#stream.flush();
    if (text !== "" || this.#sent < this.tokens.length) this.#send(text);
  }

  #send(text: string): void {
    this.text += text;
    const tokens = this.tokens.slice(this.#sent);
    const chunk: TextChunk = { text, tokens };
    if (this.#wantsLogprobs) chunk.logprobs = this.logprobs.slice(this.#sent);
    this.#sent = this.tokens.length;
    this.#options.push(chunk);
  }

  #named(token: number, { logprob, top }: TokenLogprobs): TokenLogprob {
    return {
      token,
      text: this.#textOf(token),
      logprob,
      top: top.map(([id, value]) => ({ token: id, text: this.#textOf(id), logprob: value })),
    };
  }

  #textOf(token: number): string {
    return this.#tokenizer.decode([token], { skipSpecialTokens: false, continuation: true });
  }
}
