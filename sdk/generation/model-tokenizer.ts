import type { TextPart } from "../text/messages.js";
import type { DecodeOptions, EncodeOptions } from "../text/tokenizer.js";
import type { PromptOptions } from "./call-options.js";
import { checkPrompt, type Prompt } from "./prompt.js";
import type { TextModel } from "./text-model.js";

/** The model's tokenizer, for counting and cutting texts. */
export class ModelTokenizer<Part = TextPart> {
  readonly #model: TextModel<Part>;

  /** @internal */
  constructor(model: TextModel<Part>) {
    this.#model = model;
  }

  /** Token ids of a text. Holds the thread for about 4 µs a token; {@link encodeAsync} does not. */
  encode(text: string, options?: EncodeOptions): number[] {
    return this.#model.tokenizer.encode(text, options);
  }

  /** The same; long texts are encoded in a worker thread. */
  encodeAsync(text: string, options?: EncodeOptions): Promise<number[]> {
    return this.#model.tokenizer.encodeAsync(text, options);
  }

  /**
   * Text of token ids.
   *
   * @throws OptionError for what is no token id
   */
  decode(ids: ArrayLike<number>, options?: DecodeOptions): string {
    return this.#model.tokenizer.decode(ids, options);
  }

  /**
   * Number of tokens: of a text as it stands (special tokens of the model included), or of messages as `generate()` would send
   * them, chat template and all.
   *
   * @throws OptionError for what is neither, or messages that the chat template refuses
   */
  count(text: string): number;
  count(messages: Exclude<Prompt<Part>, string>, options?: PromptOptions): Promise<number>;
  count(prompt: Prompt<Part>, options: PromptOptions = {}): number | Promise<number> {
    if (typeof prompt === "string") return this.#model.tokenizer.count(prompt);
    const checked = checkPrompt(this.#model.messages, prompt, options, "messages");
    return this.#model.encode(checked).then(({ ids }) => ids.length);
  }

  /** One more than the highest id that has a token. */
  get vocabSize(): number {
    return this.#model.tokenizer.vocabSize;
  }

  get bosTokenId(): number | undefined {
    return this.#model.tokenizer.bosId;
  }

  /** Token ids that end an answer. */
  get eosTokenIds(): readonly number[] {
    return this.#model.stopTokenIds;
  }
}
