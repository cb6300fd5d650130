import { UnsupportedError } from "../core/errors.js";
import type { TokenizerNode } from "./tokenizer-definition.js";

/** How tokens become text: `bytes` of every token, and what is cut off the front of the whole. */
interface DecodingRules {
  /** Vocabulary strings are spelled in GPT-2's alphabet of 256 printable characters, one a byte. */
  byteLevel: boolean;
  /** Replacements inside a vocabulary string, `▁` to space as a rule. */
  replacements: { from: string; to: string }[];
  /** `<0xNN>` is a byte. */
  byteFallback: boolean;
  /** Up to so many of this character are cut off the front of the decoded text. */
  strip: { character: string; count: number };
}

const EMPTY = new Uint8Array(0);
const BYTE_TOKEN = /^<0x([0-9A-Fa-f]{2})>$/;

/**
 * Bytes that each token stands for.
 *
 * All decoders that generating models use come down to this: ByteLevel, and SentencePiece's sequence of Replace,
 * ByteFallback, Fuse and Strip (or Metaspace). Decoded text is the UTF-8 reading of the joined bytes, with U+FFFD for what is
 * not UTF-8. Two differences from the Rust implementation, both on purpose: an invalid run of byte-fallback tokens spoils only
 * its invalid part (there: every byte of the run), and Metaspace cuts one leading space (there: all of the first token's).
 */
export class TokenText {
  readonly #tokenOf: (id: number) => string | undefined;
  readonly #isAdded: (id: number) => boolean;
  readonly #rules: DecodingRules;
  readonly #cache: (Uint8Array | undefined)[] = [];

  constructor(
    decoder: TokenizerNode | null,
    tokenOf: (id: number) => string | undefined,
    isAdded: (id: number) => boolean,
  ) {
    this.#tokenOf = tokenOf;
    this.#isAdded = isAdded;
    this.#rules = readRules(decoder);
  }

  /** Character and number of times it may be cut off the front of a decoded text. */
  get strip(): { character: string; count: number } {
    return this.#rules.strip;
  }

  /** UTF-8 bytes of a token, possibly a part of a character; empty for ids without text (padding of the vocabulary). */
  bytesOf(id: number): Uint8Array {
    return (this.#cache[id] ??= this.#read(id));
  }

  #read(id: number): Uint8Array {
    const token = this.#tokenOf(id);
    if (token === undefined) return EMPTY;
    if (this.#rules.byteLevel) {
      // Added tokens stand in the vocabulary as they are, not in the byte alphabet.
      return (this.#isAdded(id) ? undefined : byteLevelBytes(token)) ?? Buffer.from(token, "utf8");
    }
    const byte = this.#rules.byteFallback ? BYTE_TOKEN.exec(token) : null;
    if (byte) return Uint8Array.of(Number.parseInt(byte[1]!, 16));
    let text = token;
    for (const { from, to } of this.#rules.replacements) text = text.replaceAll(from, () => to);
    return Buffer.from(text, "utf8");
  }
}

function readRules(decoder: TokenizerNode | null): DecodingRules {
  const rules: DecodingRules = {
    byteLevel: false,
    replacements: [],
    byteFallback: false,
    strip: { character: " ", count: 0 },
  };
  if (!decoder) throw unsupported("no decoder");
  const steps = decoder.type === "Sequence" ? (decoder["decoders"] as TokenizerNode[]) : [decoder];
  let fused = false;
  for (const step of steps) {
    switch (step.type) {
      case "ByteLevel":
        rules.byteLevel = true;
        break;
      case "ByteFallback":
        rules.byteFallback = true;
        break;
      case "Fuse":
        fused = true;
        break;
      case "Replace": {
        const from = (step["pattern"] as { String?: string } | undefined)?.String;
        if (from === undefined || fused)
          throw unsupported(fused ? "Replace after Fuse" : "Replace by a regular expression");
        rules.replacements.push({ from, to: (step["content"] as string | undefined) ?? "" });
        break;
      }
      case "Strip":
        if (!fused || step["stop"]) throw unsupported("Strip of single tokens or of the end");
        rules.strip = { character: step["content"] as string, count: Number(step["start"] ?? 0) };
        break;
      case "Metaspace":
        rules.replacements.push({ from: (step["replacement"] as string | undefined) ?? "▁", to: " " });
        if (step["prepend_scheme"] !== "never" && step["add_prefix_space"] !== false) {
          rules.strip = { character: " ", count: 1 };
        }
        break;
      default:
        throw unsupported(step.type);
    }
  }
  return rules;
}

function unsupported(subject: string): UnsupportedError {
  return new UnsupportedError(
    `This tokenizer decodes with "${subject}", which is not supported (ByteLevel, Metaspace and Replace/ByteFallback/Fuse/Strip are).`,
    { subject },
  );
}

/**
 * GPT-2's alphabet: bytes that are printable in Latin-1 stand for themselves, the other 68 are numbered from U+0100 on.
 * (Radford et al. 2019, `bytes_to_unicode`.)
 */
const BYTE_OF_CHARACTER: ReadonlyMap<number, number> = (() => {
  const table = new Map<number, number>();
  let extra = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    table.set(printable ? byte : extra++, byte);
  }
  return table;
})();

function byteLevelBytes(token: string): Uint8Array | undefined {
  const bytes = new Uint8Array(token.length);
  for (let index = 0; index < token.length; index++) {
    const byte = BYTE_OF_CHARACTER.get(token.charCodeAt(index));
    if (byte === undefined) return undefined;
    bytes[index] = byte;
  }
  return bytes;
}
