import type { FinishReason } from "../core/finish-reason.js";
import type { Metrics } from "../core/metrics.js";

/** Log probability of one token of the answer, in the model's own distribution (before temperature and penalties). */
export interface TokenLogprob {
  token: number;
  /** The token's own text; for a part of a character it holds U+FFFD. */
  text: string;
  /** Natural logarithm of the probability. */
  logprob: number;
  /** The likeliest tokens at this place, best first; as many as `topLogprobs` asks for. */
  top: { token: number; text: string; logprob: number }[];
}

/** Token counts of one answer. */
export interface Usage {
  promptTokens: number;
  /** Prompt tokens that were already computed for an earlier request. */
  cachedPromptTokens: number;
  /** Tokens of the answer; the stop token does not count. */
  completionTokens: number;
}

/** A finished answer. */
export interface TextResult {
  text: string;
  /** Token ids of the answer, without the stop token. */
  tokens: number[];
  finishReason: FinishReason;
  usage: Usage;
  /** The seed in force; passing it again gives the same answer. */
  seed: number;
  metrics: Metrics;
  /** One entry a token, if asked for. */
  logprobs?: TokenLogprob[];
}

/** A piece of an answer, as it comes. The texts of all chunks together are the text of the result. */
export interface TextChunk {
  /** New text; never half a character. */
  text: string;
  /** The tokens that came; text may lag behind them while a character or a stop string is not complete. */
  tokens: number[];
  /** One entry a token, if asked for. */
  logprobs?: TokenLogprob[];
}
