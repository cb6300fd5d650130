import { ModelError } from "../core/errors.js";
import { AddedTokenSplitter } from "./added-tokens.js";
import { RankedBpe } from "./byte-pair-encoding.js";
import { alignPreTokenizer } from "./pre-tokenizer-rules.js";
import { TokenText } from "./token-text.js";
import type { AddedTokenDefinition, TokenizerDefinition } from "./tokenizer-definition.js";
import {
  LibraryTokenizerClass,
  type LibraryModel,
  type LibraryPostProcessor,
  type LibraryPreTokenizer,
  type LibraryTokenizer,
} from "./tokenizers-library.js";

const CACHE_ENTRIES = 20_000;
const CACHED_LENGTH = 64;

/** Ids put around raw text. */
export interface Affixes {
  prefix: number[];
  suffix: number[];
}

/**
 * The tables and rules of one tokenizer. Normalizers, pre-tokenizers, post-processors and models are those of
 * `@huggingface/tokenizers`; cutting the text at added tokens and turning tokens into text are ours, because there the library
 * differs from the Rust implementation (single words, byte order marks) or cannot do what chats need (control tokens as text).
 */
export class TokenizerCore {
  readonly affixes: Affixes;
  readonly text: TokenText;
  /** Token strings by id; holes where an id has no token. */
  readonly tokens: (string | undefined)[] = [];
  readonly ids: Map<string, number>;
  readonly controlIds: ReadonlySet<number>;
  /** Finds spellings of control tokens. */
  readonly controls: AddedTokenSplitter;
  readonly #normalizer: ((text: string) => string) | null;
  readonly #preTokenizer: LibraryPreTokenizer | null;
  readonly #model: LibraryModel;
  readonly #unknownId: number | undefined;
  /** Added tokens found before and after normalizing, with and without control tokens. */
  readonly #splitters: Record<"all" | "plain", { raw: AddedTokenSplitter; normalized: AddedTokenSplitter }>;
  readonly #cache = new Map<string, number[]>();

  constructor(definition: TokenizerDefinition) {
    const { addedTokens, model } = definition;
    const parts = this.#libraryParts(definition);
    this.#normalizer = parts.normalizer;
    this.#preTokenizer = parts.pre_tokenizer;
    this.#model = model.kind === "bpe" ? new RankedBpe(model) : parts.model;
    this.#unknownId = this.#model.unk_token_id;
    this.ids = this.#model.tokens_to_ids;
    for (const [token, id] of this.ids) this.tokens[id] ??= token;
    const addedIds = new Set<number>();
    for (const token of addedTokens) {
      addedIds.add(token.id);
      this.tokens[token.id] = token.content;
      this.ids.set(token.content, token.id);
    }
    const controlTokens = addedTokens.filter((token) => token.special);
    this.controls = new AddedTokenSplitter(controlTokens);
    this.controlIds = new Set(controlTokens.map((token) => token.id));
    this.#splitters = {
      all: this.#splittersOf(addedTokens),
      plain: this.#splittersOf(addedTokens.filter((token) => !token.special)),
    };
    this.text = new TokenText(
      definition.decoder,
      (id) => this.tokens[id],
      (id) => addedIds.has(id),
    );
    this.affixes = this.#affixesOf(definition, parts.post_processor);
  }

  /** Whether text is cut into words before merging; where not (SentencePiece), a text is one piece and cannot be encoded in parts. */
  get cutsText(): boolean {
    return this.#preTokenizer !== null;
  }

  /**
   * Ids of a text without BOS and EOS, in parts, so that a caller may pause between them.
   * @param barrier - a character that is taken out after control tokens were looked for; see `ControlMarks`
   */
  *encode(text: string, allowControlTokens: boolean, barrier?: string): Generator<number[], void> {
    const splitters = this.#splitters[allowControlTokens ? "all" : "plain"];
    for (const [sectionIndex, section] of splitters.raw.split(text).entries()) {
      if ("token" in section) {
        yield [section.token.id];
        continue;
      }
      const normalized = this.#normalizer ? this.#normalizer(section.text) : section.text;
      for (const [index, part] of splitters.normalized.split(normalized).entries()) {
        if ("token" in part) {
          yield [part.token.id];
          continue;
        }
        const words = barrier === undefined ? part.text : part.text.replaceAll(barrier, "");
        const pieces = this.#preTokenizer
          ? this.#preTokenizer(words, { section_index: sectionIndex + index })
          : [words];
        for (const piece of pieces) yield this.#encodePiece(piece);
      }
    }
  }

  #encodePiece(piece: string): number[] {
    const cached = this.#cache.get(piece);
    if (cached) return cached;
    const ids = this.#plainIds(piece) ?? this.#idsBetweenSpellings(piece);
    if (piece.length <= CACHED_LENGTH) {
      if (this.#cache.size >= CACHE_ENTRIES) this.#cache.clear();
      this.#cache.set(piece, ids);
    }
    return ids;
  }

  /** Ids of a piece; `undefined` where merging spells a control token out of plain text, which it must not. */
  #plainIds(piece: string): number[] | undefined {
    const ids: number[] = [];
    for (const token of this.#model([piece])) {
      const id = this.ids.get(token) ?? this.#unknownId;
      if (id === undefined) continue;
      if (this.controlIds.has(id) && token.length > 1 && piece.includes(token)) return undefined;
      ids.push(id);
    }
    return ids;
  }

  /** Encodes a piece in which control tokens are spelled, cut behind the first character of each spelling. */
  #idsBetweenSpellings(piece: string): number[] {
    const ids: number[] = [];
    let from = 0;
    const add = (to: number): void => {
      const model = this.#model([piece.slice(from, to)]);
      for (const token of model) {
        const id = this.ids.get(token) ?? this.#unknownId;
        if (id !== undefined) ids.push(id);
      }
      from = to;
    };
    for (let index = 0; index < piece.length; index++) {
      if (this.controls.longestAt(piece, index) === undefined) continue;
      const cut = index + String.fromCodePoint(piece.codePointAt(index)!).length;
      // A control token of one character cannot be cut.
      if (cut < piece.length) add(cut);
    }
    add(piece.length);
    return ids;
  }

  #splittersOf(tokens: AddedTokenDefinition[]) {
    const isNormalized = (token: AddedTokenDefinition): boolean => token.normalized && this.#normalizer !== null;
    return {
      raw: new AddedTokenSplitter(tokens.filter((token) => !isNormalized(token))),
      normalized: new AddedTokenSplitter(
        tokens.filter(isNormalized).map((token) => ({ ...token, content: this.#normalizer!(token.content) })),
      ),
    };
  }

  /** The library's parts, made from their nodes in `tokenizer.json`. */
  #libraryParts(definition: TokenizerDefinition): LibraryTokenizer {
    const { file, model } = definition;
    try {
      return new LibraryTokenizerClass(
        {
          added_tokens: [],
          normalizer: definition.normalizer,
          pre_tokenizer: alignPreTokenizer(definition.preTokenizer),
          post_processor: definition.postProcessor,
          decoder: null,
          model: model.kind === "unigram" ? model.node : { type: "BPE", vocab: {}, merges: [] },
        },
        { eos_token: definition.stopTokens[0] },
      );
    } catch (cause) {
      if (cause instanceof Error && cause.name === "UnsupportedError") throw cause;
      throw new ModelError(`${file}: the tokenizer cannot be used: ${(cause as Error).message}.`, { file, cause });
    }
  }

  #affixesOf(definition: TokenizerDefinition, postProcessor: LibraryPostProcessor | null): Affixes {
    const named = (token: string | undefined): number[] => {
      const id = token === undefined ? undefined : this.ids.get(token);
      return id === undefined ? [] : [id];
    };
    const own = postProcessor ? affixesOfPostProcessor(postProcessor, (token) => named(token)) : NO_AFFIXES;
    return {
      prefix: definition.addBos === undefined ? own.prefix : definition.addBos ? named(definition.bosToken) : [],
      suffix: definition.addEos === undefined ? own.suffix : definition.addEos ? named(definition.stopTokens[0]) : [],
    };
  }
}

const NO_AFFIXES: Affixes = { prefix: [], suffix: [] };

/** Learns what a post-processor puts around a text by letting it process a stand-in. */
function affixesOfPostProcessor(postProcessor: LibraryPostProcessor, idsOf: (token: string) => number[]): Affixes {
  const standIn = "\uFFFE";
  const { tokens } = postProcessor([standIn], null, true);
  const at = tokens.indexOf(standIn);
  return { prefix: tokens.slice(0, at).flatMap(idsOf), suffix: tokens.slice(at + 1).flatMap(idsOf) };
}
