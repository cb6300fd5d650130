import * as library from "@huggingface/tokenizers";

// The package's type declarations use extensionless imports, which do not resolve in ESM projects; the parts that are
// used here are described by hand.

/** Maps pieces of text to token strings. */
export interface LibraryModel {
  (pieces: string[]): string[];
  tokens_to_ids: Map<string, number>;
  unk_token_id?: number | undefined;
  end_of_word_suffix?: string | null | undefined;
}

export interface LibraryBpe extends LibraryModel {
  /** Splits one piece into the spellings of its tokens. */
  bpe(piece: string): string[];
}

/** `section_index` is 0 for the first section of a text. */
export type LibraryPreTokenizer = (text: string, options: { section_index: number }) => string[];

export type LibraryPostProcessor = (tokens: string[], pair: null, addSpecialTokens: boolean) => { tokens: string[] };

export interface LibraryTokenizer {
  normalizer: ((text: string) => string) | null;
  pre_tokenizer: LibraryPreTokenizer | null;
  post_processor: LibraryPostProcessor | null;
  model: LibraryModel;
}

interface Library {
  /** Makes all parts from the content of `tokenizer.json` and `tokenizer_config.json`. */
  Tokenizer: new (tokenizer: object, config: object) => LibraryTokenizer;
  BPE: new (model: object) => LibraryBpe;
}

export const { Tokenizer: LibraryTokenizerClass, BPE: LibraryBpeClass } = library as unknown as Library;
