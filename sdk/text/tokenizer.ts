import { setImmediate as nextTurn } from "node:timers/promises";
import { DisposedError, ModelError, OptionError, PergolaError } from "../core/errors.js";
import type { GgufFile } from "../models/gguf/gguf-file.js";
import type { AddedTokenSplitter } from "./added-tokens.js";
import { TokenDecoder } from "./detokenizer.js";
import { TokenizerCore } from "./tokenizer-core.js";
import type { TokenizerDefinition } from "./tokenizer-definition.js";
import type { TokenizerFiles } from "./tokenizer-json.js";
import { readDefinition, type TokenizerSource } from "./tokenizer-source.js";
import { WorkerEncoder } from "./worker-encoder.js";

export interface EncodeOptions {
  /** Put BOS and EOS around the text. Defaults to what the model's own files say. */
  addSpecialTokens?: boolean;
  /**
   * Read the spelling of control tokens (`<|im_start|>`) as these tokens. `false` makes them plain text: what a user typed
   * cannot open a turn. Added tokens that are no control tokens are found either way. Defaults to `true`.
   */
  allowControlTokens?: boolean;
  /**
   * A character that keeps a control token's spelling from being read as one and is taken out before the text is encoded.
   * @internal
   */
  barrier?: string | undefined;
}

export interface DecodeOptions {
  /** Leave control tokens out. Defaults to `true`. */
  skipSpecialTokens?: boolean;
  /**
   * The ids continue a text: the space that SentencePiece models put in front of a text's first word is kept. Defaults
   * to `false`.
   */
  continuation?: boolean;
}

/**
 * Measured with SmolLM2's tokenizer on two AVX2 cores, cold caches: 2 ms for 1,000 characters. From here on (UTF-16 units) the
 * work pauses after every slice, so that the event loop turns.
 */
const SLICE_THRESHOLD = 1_000;
const SLICE_MS = 4;
/** Letters, figures, marks, blanks and more than one plane. */
const TRIAL = " Aé1 2!\n\tx😀";
/** From here on a worker thread encodes; its start (0.2 s, once) costs more than it saves for shorter texts. */
const WORKER_THRESHOLD = 20_000;
/** The same for tokenizers that merge a text as one piece, which cannot be sliced. */
const WHOLE_TEXT_THRESHOLD = 4_000;

/**
 * Text to token ids and back, like the model's own tokenizer (`transformers`, GGUF).
 *
 * Strings need not be well-formed: a lone surrogate counts as U+FFFD. NUL is a character like any other. Decoding never
 * changes white space.
 */
export class Tokenizer {
  readonly #core: TokenizerCore;
  readonly #definition: Pick<TokenizerDefinition, "bosToken" | "stopTokens" | "namedTokens">;
  readonly #worker: WorkerEncoder;
  #disposed = false;

  private constructor(source: TokenizerSource, definition: TokenizerDefinition) {
    this.#core = new TokenizerCore(definition);
    const { bosToken, stopTokens, namedTokens } = definition;
    this.#definition = { bosToken, stopTokens, namedTokens };
    this.#worker = new WorkerEncoder(source);
  }

  /** From `tokenizer.json`, `tokenizer_config.json` and `special_tokens_map.json` of a model folder. @throws ModelError */
  static async fromFolder(folder: string): Promise<Tokenizer> {
    return Tokenizer.#read({ kind: "folder", folder });
  }

  /** From the metadata of a GGUF file. @throws ModelError | UnsupportedError */
  static async fromGguf(gguf: GgufFile): Promise<Tokenizer> {
    return Tokenizer.#read({ kind: "gguf", file: gguf.files[0]! }, gguf);
  }

  /** From the parsed content of the files. @throws ModelError | UnsupportedError */
  static async fromFiles(files: TokenizerFiles): Promise<Tokenizer> {
    return Tokenizer.#read({ kind: "files", files });
  }

  static async #read(source: TokenizerSource, gguf?: GgufFile): Promise<Tokenizer> {
    const definition = await readDefinition(source, gguf);
    try {
      const tokenizer = new Tokenizer(source, definition);
      // Rules of a damaged file may fail only when they are used.
      tokenizer.decode(tokenizer.encode(TRIAL));
      return tokenizer;
    } catch (cause) {
      if (PergolaError.isInstance(cause)) throw cause;
      const { file } = definition;
      throw new ModelError(`${file}: the tokenizer cannot be used: ${(cause as Error).message}.`, { file, cause });
    }
  }

  /** Token ids of a text. Holds the thread: about 4 µs a token; see {@link Tokenizer.encodeAsync} for long texts. */
  encode(text: string, options: EncodeOptions = {}): number[] {
    const ids: number[] = [];
    for (const part of this.#core.encode(wellFormed(text), options.allowControlTokens ?? true, options.barrier)) {
      for (const id of part) ids.push(id);
    }
    return this.#withAffixes(ids, options);
  }

  /** The same ids as {@link Tokenizer.encode}; long texts are encoded in a worker thread. @throws DisposedError */
  async encodeAsync(text: string, options: EncodeOptions = {}): Promise<number[]> {
    if (this.#disposed) throw new DisposedError("The tokenizer is disposed.");
    const input = wellFormed(text);
    const allowControlTokens = options.allowControlTokens ?? true;
    if (input.length < SLICE_THRESHOLD) return this.encode(input, options);
    const workerThreshold = this.#core.cutsText ? WORKER_THRESHOLD : WHOLE_TEXT_THRESHOLD;
    if (input.length >= workerThreshold && this.#worker.usable) {
      try {
        return this.#withAffixes(
          Array.from(await this.#worker.encode(input, allowControlTokens, options.barrier)),
          options,
        );
      } catch (error) {
        // A worker that cannot start (bundled without its file, source files moved) is no reason to fail.
        if (error instanceof DisposedError) throw error;
      }
    }
    return this.#withAffixes(await this.#encodeInSlices(input, allowControlTokens, options.barrier), options);
  }

  async #encodeInSlices(text: string, allowControlTokens: boolean, barrier?: string): Promise<number[]> {
    const ids: number[] = [];
    let started = performance.now();
    for (const part of this.#core.encode(text, allowControlTokens, barrier)) {
      for (const id of part) ids.push(id);
      if (performance.now() - started < SLICE_MS) continue;
      await nextTurn();
      if (this.#disposed) throw new DisposedError("The tokenizer was disposed while it encoded a text.");
      started = performance.now();
    }
    return ids;
  }

  /** BOS is not doubled where the text begins with it already. */
  #withAffixes(ids: number[], { addSpecialTokens = true }: EncodeOptions): number[] {
    const { prefix, suffix } = this.#core.affixes;
    if (!addSpecialTokens || prefix.length + suffix.length === 0) return ids;
    const present = prefix.length > 0 && prefix.every((id, index) => ids[index] === id);
    return [...(present ? [] : prefix), ...ids, ...suffix];
  }

  /**
   * Text of token ids. Ids that the tokenizer has no token for (padding of the vocabulary) give no text.
   * @throws OptionError for ids that are not whole numbers from 0 on
   */
  decode(ids: ArrayLike<number>, options: DecodeOptions = {}): string {
    const decoder = this.decoder(options);
    return decoder.push(ids) + decoder.flush();
  }

  /** A decoder that takes ids as they come. */
  decoder(options: DecodeOptions = {}): TokenDecoder {
    const skipped = (options.skipSpecialTokens ?? true) ? this.#core.controlIds : NOTHING;
    return new TokenDecoder(this.#core.text, skipped, options.continuation ?? false);
  }

  /** Number of tokens of a text, with the options of {@link Tokenizer.encode}. */
  count(text: string, options: EncodeOptions = {}): number {
    return this.encode(text, options).length;
  }

  /** One more than the highest id that has a token; the model's own vocabulary may be padded beyond it. */
  get vocabSize(): number {
    return this.#core.tokens.length;
  }

  idOf(token: string): number | undefined {
    return this.#core.ids.get(token);
  }

  /** The token as it stands in the vocabulary (byte-level tokenizers spell a space `Ġ`). */
  tokenOf(id: number): string | undefined {
    return this.#core.tokens[id];
  }

  /** Whether the id is a control token, which {@link Tokenizer.decode} leaves out. */
  isControl(id: number): boolean {
    return this.#core.controlIds.has(id);
  }

  /** Finds spellings of control tokens in text. @internal */
  get controls(): AddedTokenSplitter {
    return this.#core.controls;
  }

  get bosId(): number | undefined {
    const token = this.#definition.bosToken;
    return token === undefined ? undefined : this.idOf(token);
  }

  /** The model's end-of-sequence token; the first of {@link Tokenizer.stopIds}. */
  get eosId(): number | undefined {
    const token = this.#definition.namedTokens["eos_token"];
    return token === undefined ? undefined : this.idOf(token);
  }

  /**
   * Ids that end an answer as far as the tokenizer's own files know: EOS, and for GGUF also end-of-turn and end-of-message.
   * `generation_config.json` may name others.
   */
  get stopIds(): number[] {
    return this.#definition.stopTokens.map((token) => this.idOf(token)).filter((id) => id !== undefined);
  }

  /** Special tokens by name (`bos_token`, `eos_token`, ...), as chat templates use them. */
  get namedTokens(): Readonly<Record<string, string>> {
    return this.#definition.namedTokens;
  }

  /** Ids put around raw text when special tokens are added. */
  get affixes(): { readonly prefix: readonly number[]; readonly suffix: readonly number[] } {
    return this.#core.affixes;
  }

  /** Ends the worker thread. Encoding and decoding in the calling thread still work. */
  async dispose(): Promise<void> {
    this.#disposed = true;
    await this.#worker.dispose();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }
}

const NOTHING: ReadonlySet<number> = new Set();

/** With lone surrogates replaced by U+FFFD. */
function wellFormed(text: string): string {
  if (typeof text !== "string") {
    throw new OptionError(`text: expected a string, received ${text === null ? "null" : typeof text}.`, {
      path: "text",
      expected: "a string",
      received: text,
    });
  }
  return text.replace(/\p{Surrogate}/gu, "\uFFFD");
}
