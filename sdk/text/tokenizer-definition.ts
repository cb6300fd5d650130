/** A node of `tokenizer.json` (normalizer, pre-tokenizer, ...): a type name and its own fields. */
export interface TokenizerNode {
  type: string;
  [field: string]: unknown;
}

/** A token that is matched in the text before the model's own rules apply. */
export interface AddedTokenDefinition {
  id: number;
  content: string;
  /** Control token (`<|im_start|>`); others, such as `<think>`, are ordinary text that happens to be one token. */
  special: boolean;
  /** Match only where no word character stands beside it. */
  singleWord: boolean;
  /** Take white space on the left along. */
  leftStrip: boolean;
  /** Take white space on the right along. */
  rightStrip: boolean;
  /** Matched after normalizing, not before. */
  normalized: boolean;
}

export interface BpeDefinition {
  kind: "bpe";
  vocabulary: Map<string, number>;
  /** Pairs in order of priority. */
  merges?: (readonly [left: string, right: string])[];
  /** SentencePiece: priority of the merged piece, higher first; takes the place of `merges`. By token id. */
  scores?: ArrayLike<number>;
  unknownToken: string | undefined;
  fuseUnknown: boolean;
  /** Characters without a token become `<0xNN>` tokens. */
  byteFallback: boolean;
  /** A piece that is a token as it stands is not merged up. */
  ignoreMerges: boolean;
  /** Runs of newlines that are a token are taken as they stand (Gemma 4). */
  wholeNewlines?: boolean;
  endOfWordSuffix: string | undefined;
}

export interface UnigramDefinition {
  kind: "unigram";
  /** The `model` node of `tokenizer.json`. */
  node: TokenizerNode;
}

/** Everything a tokenizer is made of, whichever file it came from. */
export interface TokenizerDefinition {
  /** File named in errors. */
  file: string;
  normalizer: TokenizerNode | null;
  preTokenizer: TokenizerNode | null;
  model: BpeDefinition | UnigramDefinition;
  decoder: TokenizerNode | null;
  /** Node of `tokenizer.json`; `addBos` and `addEos` overrule it. */
  postProcessor: TokenizerNode | null;
  addedTokens: AddedTokenDefinition[];
  /** Put BOS in front of raw text; `undefined`: as the post-processor says. */
  addBos: boolean | undefined;
  /** Put EOS behind raw text; `undefined`: as the post-processor says. */
  addEos: boolean | undefined;
  bosToken: string | undefined;
  /** The first is the model's EOS; further ones end a turn or a message. */
  stopTokens: string[];
  /** All named special tokens, for chat templates (`bos_token`, `eos_token`, `unk_token`, `pad_token`, ...). */
  namedTokens: Record<string, string>;
}
