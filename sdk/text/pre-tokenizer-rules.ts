import { UnsupportedError } from "../core/errors.js";
import type { TokenizerNode } from "./tokenizer-definition.js";

/** GPT-2's splitting rule, which ByteLevel applies when `use_regex` is on. */
export const GPT2_PATTERN = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/** A `Split` node that cuts out every match of a regular expression. */
export function splitNode(pattern: string): TokenizerNode {
  return { type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false };
}

/** ByteLevel without its own splitting: only spells pieces in the byte alphabet. */
export const BYTE_LEVEL_NODE: TokenizerNode = {
  type: "ByteLevel",
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: false,
};

/**
 * Rewrites pre-tokenizer nodes whose JavaScript implementation differs from the Rust one into nodes that agree:
 *
 * - `Digits`: Rust takes every Unicode number (`\p{N}`), the library ASCII digits only.
 * - `ByteLevel` with its own rule: JavaScript's `\s` is not Unicode's White_Space (U+0085, U+FEFF).
 * - `Split` with MergedWithPrevious, MergedWithNext, Contiguous or inverted: the library isolates every match.
 * - `Metaspace` splits in front of every ▁ unless told not to.
 */
export function alignPreTokenizer(node: TokenizerNode | null): TokenizerNode | null {
  if (node === null) return null;
  switch (node.type) {
    case "Sequence": {
      const children = (node["pretokenizers"] ?? []) as TokenizerNode[];
      return { ...node, pretokenizers: children.map((child) => alignPreTokenizer(child)) };
    }
    case "Digits":
      return splitNode(node["individual_digits"] ? "\\p{N}" : "\\p{N}+");
    case "ByteLevel":
      // With a prefix space the space has to come before the split; the library's order is right there.
      if (node["use_regex"] === false || node["add_prefix_space"] === true) return node;
      return { type: "Sequence", pretokenizers: [splitNode(GPT2_PATTERN), { ...node, use_regex: false }] };
    case "Split":
      return alignSplit(node);
    case "Metaspace": {
      const replacement = (node["replacement"] as string | undefined) ?? "▁";
      const scheme = node["prepend_scheme"] ?? (node["add_prefix_space"] === false ? "never" : "always");
      const metaspace = { ...node, prepend_scheme: scheme };
      if (node["split"] === false) return metaspace;
      return { type: "Sequence", pretokenizers: [metaspace, splitNode(mergedWithNext(escapeRegex(replacement)))] };
    }
    default:
      return node;
  }
}

function alignSplit(node: TokenizerNode): TokenizerNode {
  const { Regex, String: literal } = node["pattern"] as { Regex?: string; String?: string };
  const pattern = Regex ?? escapeRegex(literal ?? "");
  const behavior = ((node["behavior"] as string | undefined) ?? "Isolated").toLowerCase();
  if (node["invert"] === true) {
    // Inverted: what does not match is the separator. "Removed" then keeps the matches only, as the library does.
    if (behavior === "removed") return node;
    if (behavior === "isolated") return { ...node, invert: false };
    throw refuse(node);
  }
  switch (behavior) {
    case "isolated":
    case "removed":
      return node;
    case "mergedwithprevious":
      return splitNode(`(?:(?!${pattern})[\\s\\S])*(?:${pattern})`);
    case "mergedwithnext":
      return splitNode(mergedWithNext(pattern));
    case "contiguous":
      return splitNode(`(?:${pattern})+`);
    default:
      throw refuse(node);
  }
}

function mergedWithNext(pattern: string): string {
  return `(?:${pattern})(?:(?!${pattern})[\\s\\S])*`;
}

function escapeRegex(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
}

function refuse(node: TokenizerNode): UnsupportedError {
  const subject = `Split ${String(node["behavior"])}${node["invert"] === true ? " inverted" : ""}`;
  return new UnsupportedError(`This tokenizer splits text with "${subject}", which is not supported.`, { subject });
}
