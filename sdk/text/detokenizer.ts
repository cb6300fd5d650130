import { OptionError } from "../core/errors.js";
import type { TokenText } from "./token-text.js";

/**
 * Turns token ids into text as they come. What `push` and `flush` return, joined, is what decoding all ids at once gives: the
 * bytes of an unfinished character wait for the rest of it, and only `flush` gives up on them (U+FFFD). The cost of a token does
 * not depend on how many came before.
 */
export class TokenDecoder {
  readonly #text: TokenText;
  readonly #skipped: ReadonlySet<number>;
  /** Bytes of a character that is not complete yet: three at most. */
  #pending: Uint8Array = new Uint8Array(0);
  /** Characters that may still be cut off the front. */
  #toStrip: number;

  constructor(text: TokenText, skipped: ReadonlySet<number>, continuation: boolean) {
    this.#text = text;
    this.#skipped = skipped;
    this.#toStrip = continuation ? 0 : text.strip.count;
  }

  /** Text that became certain with these ids; often, but not always, the text of the ids themselves. */
  push(ids: ArrayLike<number>): string {
    const parts: Uint8Array[] = [this.#pending];
    for (let index = 0; index < ids.length; index++) {
      const id = ids[index]!;
      if (!Number.isInteger(id) || id < 0) {
        throw new OptionError(
          `ids[${index}]: expected a token id (a whole number from 0 on), received ${String(id)}.`,
          {
            path: `ids[${index}]`,
            expected: "a token id",
            received: id,
          },
        );
      }
      if (!this.#skipped.has(id)) parts.push(this.#text.bytesOf(id));
    }
    const bytes = Buffer.concat(parts);
    const complete = bytes.length - unfinishedBytes(bytes);
    this.#pending = bytes.subarray(complete);
    return this.#stripped(bytes.toString("utf8", 0, complete));
  }

  /** Whether bytes of an unfinished character wait for the rest of it. */
  get unfinished(): boolean {
    return this.#pending.length > 0;
  }

  /** Text of what is left: U+FFFD for the beginning of a character, otherwise nothing. */
  flush(): string {
    const rest = Buffer.from(this.#pending).toString("utf8");
    this.#pending = new Uint8Array(0);
    return this.#stripped(rest);
  }

  #stripped(text: string): string {
    let start = 0;
    while (this.#toStrip > 0 && start < text.length) {
      if (text[start] === this.#text.strip.character) {
        start++;
        this.#toStrip--;
      } else {
        this.#toStrip = 0;
      }
    }
    return start > 0 ? text.slice(start) : text;
  }
}

/** Length of the sequence at the end of the bytes that valid UTF-8 could still complete (0 to 3). */
function unfinishedBytes(bytes: Uint8Array): number {
  const end = bytes.length;
  for (let back = 1; back <= Math.min(3, end); back++) {
    const byte = bytes[end - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const length =
      byte >= 0xf0 && byte <= 0xf4 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1;
    if (length <= back) return 0;
    // The second byte decides about overlong forms, surrogates and values past U+10FFFF.
    return back === 1 || isSecondByte(byte, bytes[end - back + 1]!) ? back : 0;
  }
  return 0;
}

function isSecondByte(lead: number, byte: number): boolean {
  switch (lead) {
    case 0xe0:
      return byte >= 0xa0;
    case 0xed:
      return byte < 0xa0;
    case 0xf0:
      return byte >= 0x90;
    case 0xf4:
      return byte < 0x90;
    default:
      return true;
  }
}
