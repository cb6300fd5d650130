import type { BpeDefinition } from "./tokenizer-definition.js";
import { LibraryBpeClass } from "./tokenizers-library.js";

/** Stands between two symbols in a key; no vocabulary has this noncharacter in a token. */
const SEPARATOR = "\uFFFF";

/**
 * The library's BPE with its merge loop replaced. The ranks are keyed by plain strings (the library serializes every
 * pair to JSON, twice), and SentencePiece vocabularies need no list of merges: the score of the merged piece is the
 * priority, as in SentencePiece itself.
 */
export class RankedBpe extends LibraryBpeClass {
  #rankOf: (left: string, right: string) => number | undefined;
  readonly #wholeNewlines: boolean;

  constructor(definition: BpeDefinition) {
    super({
      type: "BPE",
      vocab: {},
      merges: [],
      unk_token: definition.unknownToken ?? null,
      fuse_unk: definition.fuseUnknown,
      byte_fallback: definition.byteFallback,
      ignore_merges: definition.ignoreMerges,
      end_of_word_suffix: definition.endOfWordSuffix ?? null,
    });
    this.tokens_to_ids = definition.vocabulary;
    const unknownId =
      definition.unknownToken === undefined ? undefined : this.tokens_to_ids.get(definition.unknownToken);
    if (unknownId !== undefined) this.unk_token_id = unknownId;
    this.#wholeNewlines = definition.wholeNewlines ?? false;
    this.#rankOf = definition.scores
      ? rankByScore(definition.vocabulary, definition.scores)
      : rankByMerges(definition.merges ?? []);
  }

  /** Merges a piece of text, best pair first; among equal pairs the leftmost. */
  override bpe(piece: string): string[] {
    if (this.#wholeNewlines && /^\n+$/.test(piece) && this.tokens_to_ids.has(piece)) return [piece];
    const symbols = Array.from(piece);
    if (symbols.length === 0) return [];
    if (this.end_of_word_suffix) symbols.push(symbols.pop()! + this.end_of_word_suffix);
    return symbols.length === 1 ? symbols : merge(symbols, this.#rankOf);
  }
}

function rankByMerges(merges: readonly (readonly [string, string])[]) {
  const ranks = new Map<string, number>();
  for (const [index, [left, right]] of merges.entries()) {
    const key = left + SEPARATOR + right;
    if (!ranks.has(key)) ranks.set(key, index);
  }
  return (left: string, right: string) => ranks.get(left + SEPARATOR + right);
}

function rankByScore(vocabulary: Map<string, number>, scores: ArrayLike<number>) {
  // Equal scores share a rank, so that the leftmost of equals is merged first.
  const distinct = Float64Array.from(new Set(Array.from(scores)))
    .sort()
    .reverse();
  const rankOfScore = new Map<number, number>(Array.from(distinct, (score, rank) => [score, rank]));
  return (left: string, right: string) => {
    const id = vocabulary.get(left + right);
    return id === undefined || id >= scores.length ? undefined : rankOfScore.get(scores[id]!);
  };
}

/**
 * Merging with a linked list of symbols and a heap of candidate pairs: O(n log n) for a piece of n characters, which
 * matters for SentencePiece, where the whole text is one piece. A heap entry is one number, `rank * n + left`: ordered by
 * rank, then by position (exact, as ranks stay below 2^20 and n below 2^33).
 */
function merge(symbols: string[], rankOf: (left: string, right: string) => number | undefined): string[] {
  const count = symbols.length;
  const next = new Int32Array(count);
  const previous = new Int32Array(count);
  /** Rank of the pair that starts here, -1 where it cannot be merged; also tells stale heap entries. */
  const pairRank = new Float64Array(count).fill(-1);
  const heap: number[] = [];
  const consider = (left: number): void => {
    const right = next[left]!;
    const rank = right < count ? rankOf(symbols[left]!, symbols[right]!) : undefined;
    pairRank[left] = rank ?? -1;
    if (rank !== undefined) push(heap, rank * count + left);
  };
  for (let index = 0; index < count; index++) {
    next[index] = index + 1;
    previous[index] = index - 1;
  }
  for (let index = 0; index < count; index++) consider(index);
  while (heap.length > 0) {
    const entry = pop(heap);
    const left = entry % count;
    if (pairRank[left] !== (entry - left) / count) continue;
    const right = next[left]!;
    symbols[left]! += symbols[right]!;
    pairRank[right] = -1;
    next[left] = next[right]!;
    if (next[left] < count) previous[next[left]] = left;
    consider(left);
    if (previous[left]! >= 0) consider(previous[left]!);
  }
  const merged: string[] = [];
  for (let index = 0; index < count; index = next[index]!) merged.push(symbols[index]!);
  return merged;
}

function push(heap: number[], value: number): void {
  let index = heap.length;
  heap.push(value);
  while (index > 0) {
    const parent = (index - 1) >> 1;
    if (heap[parent]! <= value) break;
    heap[index] = heap[parent]!;
    index = parent;
  }
  heap[index] = value;
}

function pop(heap: number[]): number {
  const top = heap[0]!;
  const last = heap.pop()!;
  const count = heap.length;
  if (count === 0) return top;
  let index = 0;
  for (;;) {
    let child = 2 * index + 1;
    if (child >= count) break;
    if (child + 1 < count && heap[child + 1]! < heap[child]!) child++;
    if (heap[child]! >= last) break;
    heap[index] = heap[child]!;
    index = child;
  }
  heap[index] = last;
  return top;
}
