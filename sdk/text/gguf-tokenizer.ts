import { ModelError, UnsupportedError } from "../core/errors.js";
import type { GgufMetadata } from "../models/gguf/gguf-file.js";
import { ggufPreTokenizer, type GgufPreTokenizer } from "./gguf-pre-tokenizers.js";
import { BYTE_LEVEL_NODE, splitNode } from "./pre-tokenizer-rules.js";
import type {
  AddedTokenDefinition,
  BpeDefinition,
  TokenizerDefinition,
  TokenizerNode,
} from "./tokenizer-definition.js";
import { splitMerge } from "./tokenizer-json.js";

/** Values of `tokenizer.ggml.token_type`. */
const enum TokenType {
  Unknown = 2,
  Control = 3,
  UserDefined = 4,
}

/** Tokens that end an answer, by their text, for files that name only one of them (llama.cpp's list). */
const END_TOKENS: ReadonlySet<string> = new Set([
  "<|eot_id|>",
  "<|im_end|>",
  "<|end|>",
  "<|return|>",
  "<|call|>",
  "<|flush|>",
  "<|calls|>",
  "<end_of_turn>",
  "<|endoftext|>",
  "<|eom_id|>",
  "<EOT>",
  "_<EOT>",
  "[EOT]",
  "[EOS]",
  "<|end_of_text|>",
  "<end_of_utterance>",
  "<turn|>",
  "<|tool_response>",
  "<｜end▁of▁sentence｜>",
  "[e~[",
]);

/**
 * Builds a tokenizer from the metadata of a GGUF file: byte-level BPE (`gpt2`, with the rule that `tokenizer.ggml.pre` names),
 * SentencePiece BPE (`llama`) and Gemma 4's mixture of both.
 * @throws ModelError where the file has no tokenizer or a damaged one, UnsupportedError naming an unknown kind or rule.
 */
export function definitionFromGguf(metadata: GgufMetadata): TokenizerDefinition {
  const { file } = metadata;
  const kind = metadata.string("tokenizer.ggml.model");
  const tokens = metadata.strings("tokenizer.ggml.tokens");
  if (kind === undefined || !tokens || tokens.length === 0) {
    throw new ModelError(`${file} has no tokenizer in its metadata (tokenizer.ggml.model, tokenizer.ggml.tokens).`, {
      file,
    });
  }
  switch (kind) {
    case "gpt2":
      return fromMerges(metadata, tokens, preTokenizerOf(metadata, metadata.string("tokenizer.ggml.pre") ?? "default"));
    case "gemma4":
      return fromMerges(metadata, tokens, preTokenizerOf(metadata, "gemma4"));
    case "llama":
      return fromScores(metadata, tokens);
    default:
      throw new UnsupportedError(`${file}: tokenizer kind "${kind}" is not supported (gpt2, llama and gemma4 are).`, {
        subject: kind,
      });
  }
}

function preTokenizerOf(metadata: GgufMetadata, name: string): GgufPreTokenizer {
  const rule = ggufPreTokenizer(name);
  if (!rule) {
    throw new UnsupportedError(
      `${metadata.file}: pre-tokenizer "${name}" (tokenizer.ggml.pre) is not known to this version.`,
      { subject: name },
    );
  }
  return rule;
}

function fromMerges(metadata: GgufMetadata, tokens: string[], rule: GgufPreTokenizer): TokenizerDefinition {
  const merges = metadata.strings("tokenizer.ggml.merges");
  if (!merges) {
    throw new ModelError(`${metadata.file} has no merges for its tokenizer (tokenizer.ggml.merges).`, {
      file: metadata.file,
    });
  }
  const vocabulary = vocabularyOf(tokens);
  const spaces = rule.sentencePiece === true;
  const model: BpeDefinition = {
    kind: "bpe",
    vocabulary,
    merges: merges.map(splitMerge),
    unknownToken: undefined,
    fuseUnknown: false,
    byteFallback: spaces,
    ignoreMerges: rule.ignoreMerges === true,
    wholeNewlines: spaces,
    endOfWordSuffix: undefined,
  };
  const splits = rule.patterns.map(splitNode);
  return {
    ...common(metadata, tokens, vocabulary, { bos: undefined, eos: undefined, addBos: rule.addBos === true || spaces }),
    normalizer: spaces ? REPLACE_SPACES : rule.composed ? { type: "NFC" } : null,
    preTokenizer: { type: "Sequence", pretokenizers: spaces ? splits : [...splits, BYTE_LEVEL_NODE] },
    model,
    decoder: spaces ? sentencePieceDecoder(0) : { type: "ByteLevel" },
  };
}

function fromScores(metadata: GgufMetadata, tokens: string[]): TokenizerDefinition {
  const scores = metadata.numbers("tokenizer.ggml.scores");
  if (!scores || scores.length < tokens.length) {
    throw new ModelError(
      `${metadata.file} has ${scores?.length ?? 0} scores for ${tokens.length} tokens (tokenizer.ggml.scores).`,
      { file: metadata.file },
    );
  }
  const vocabulary = vocabularyOf(tokens);
  const prefix = metadata.boolean("tokenizer.ggml.add_space_prefix") ?? true;
  const unknown = tokens[metadata.number("tokenizer.ggml.unknown_token_id") ?? 0];
  const model: BpeDefinition = {
    kind: "bpe",
    vocabulary,
    scores,
    unknownToken: unknown,
    fuseUnknown: true,
    byteFallback: true,
    ignoreMerges: false,
    endOfWordSuffix: undefined,
  };
  return {
    ...common(metadata, tokens, vocabulary, { bos: 1, eos: 2, addBos: true }),
    normalizer: prefix
      ? { type: "Sequence", normalizers: [{ type: "Prepend", prepend: "▁" }, REPLACE_SPACES] }
      : REPLACE_SPACES,
    preTokenizer: null,
    model,
    decoder: sentencePieceDecoder(prefix ? 1 : 0),
  };
}

const REPLACE_SPACES: TokenizerNode = { type: "Replace", pattern: { String: " " }, content: "▁" };

function sentencePieceDecoder(strip: number): TokenizerNode {
  const decoders: TokenizerNode[] = [
    { type: "Replace", pattern: { String: "▁" }, content: " " },
    { type: "ByteFallback" },
    { type: "Fuse" },
  ];
  if (strip > 0) decoders.push({ type: "Strip", content: " ", start: strip, stop: 0 });
  return { type: "Sequence", decoders };
}

function vocabularyOf(tokens: string[]): Map<string, number> {
  const vocabulary = new Map<string, number>();
  for (const [id, token] of tokens.entries()) {
    // Two ids of one spelling: the first is the one that text becomes, as in llama.cpp's older files.
    if (token.length > 0 && !vocabulary.has(token)) vocabulary.set(token, id);
  }
  return vocabulary;
}

/** Added tokens, BOS, EOS and flags, which all kinds have in common. */
function common(
  metadata: GgufMetadata,
  tokens: string[],
  vocabulary: Map<string, number>,
  defaults: { bos: number | undefined; eos: number | undefined; addBos: boolean },
): Omit<TokenizerDefinition, "normalizer" | "preTokenizer" | "model" | "decoder"> {
  const types = metadata.numbers("tokenizer.ggml.token_type");
  const tokenAt = (key: string, fallback?: number): string | undefined => {
    const id = metadata.number(`tokenizer.ggml.${key}_token_id`);
    return (id === undefined ? undefined : tokens[id]) ?? (fallback === undefined ? undefined : tokens[fallback]);
  };
  const bosToken = tokenAt("bos", defaults.bos);
  const eos = tokenAt("eos", defaults.eos);
  const addedTokens: AddedTokenDefinition[] = [];
  const ends: string[] = [];
  for (const [id, content] of tokens.entries()) {
    const type = types?.[id];
    const isEnd = END_TOKENS.has(content);
    const named = content === bosToken || content === eos;
    const special = type === TokenType.Control || type === TokenType.Unknown || isEnd || named;
    if (!special && type !== TokenType.UserDefined) continue;
    if (content.length === 0 || vocabulary.get(content) !== id) continue;
    addedTokens.push({
      id,
      content,
      special,
      singleWord: false,
      leftStrip: false,
      rightStrip: false,
      normalized: false,
    });
    if (isEnd) ends.push(content);
  }
  const stopTokens = new Set([eos, tokenAt("eot"), tokenAt("eom"), ...ends].filter((token) => token !== undefined));
  // OpenAI's harmony format and Solar end a message, not the answer, with <|end|>.
  const harmony = stopTokens.has("<|call|>") || stopTokens.has("<|calls|>");
  if (harmony && (stopTokens.has("<|return|>") || stopTokens.has("<|flush|>"))) stopTokens.delete("<|end|>");
  const namedTokens: Record<string, string> = {};
  const names = { bos_token: bosToken, eos_token: eos, unk_token: tokenAt("unknown"), pad_token: tokenAt("padding") };
  for (const [name, token] of Object.entries(names)) if (token !== undefined) namedTokens[name] = token;
  return {
    file: metadata.file,
    postProcessor: null,
    addedTokens,
    addBos: metadata.boolean("tokenizer.ggml.add_bos_token") ?? defaults.addBos,
    addEos: metadata.boolean("tokenizer.ggml.add_eos_token") ?? false,
    bosToken,
    stopTokens: [...stopTokens],
    namedTokens,
  };
}
