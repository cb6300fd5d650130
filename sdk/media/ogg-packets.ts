import type { ByteReader } from "./byte-reader.js";

/** The packets that end on one page of an Ogg stream. */
export interface OggPage {
  packets: Uint8Array[];
  /** Position in the codec's own units after the last packet that ends here; -1 if none does. */
  granule: number;
  /** The first page of a stream. */
  begins: boolean;
  /** The last page of a stream. */
  ends: boolean;
}

const HEAD = 27;
/** Longest packet that is put together from several pages. */
const LONGEST_PACKET = 1 << 20;

/**
 * Reads the pages of an Ogg file (RFC 3533). Of streams that lie beside each other only the first one is read; one that
 * follows after its end is read too. Damaged places are left out.
 */
export async function* oggPages(reader: ByteReader): AsyncGenerator<OggPage, void, undefined> {
  let serial: number | undefined;
  let ended = false;
  let carried: Uint8Array[] = [];
  while (await findPage(reader)) {
    const head = (await reader.take(HEAD)).slice();
    if (head.length < HEAD) return;
    const view = new DataView(head.buffer);
    const lacing = (await reader.take(head[26]!)).slice();
    const body = (await reader.take(lacing.reduce((sum, length) => sum + length, 0))).slice();
    const flags = head[5]!;
    const begins = (flags & 2) !== 0;
    const own = view.getUint32(14, true);
    if (serial === undefined || (begins && ended)) {
      serial = own;
      carried = [];
    } else if (own !== serial) {
      continue;
    }
    ended = (flags & 4) !== 0;
    const continues = (flags & 1) !== 0;
    // A packet whose beginning or end is missing is left out.
    if (!continues) carried = [];
    let skipping = continues && carried.length === 0;
    const packets: Uint8Array[] = [];
    let at = 0;
    let start = 0;
    for (const length of lacing) {
      at += length;
      if (length === 255) continue;
      if (at <= body.length && !skipping) packets.push(Buffer.concat([...carried, body.subarray(start, at)]));
      carried = [];
      skipping = false;
      start = at;
    }
    if (start < at && !skipping) {
      carried.push(body.subarray(start));
      if (carried.reduce((sum, part) => sum + part.length, 0) > LONGEST_PACKET) carried = [];
    }
    yield { packets, granule: Number(view.getBigInt64(6, true)), begins, ends: ended };
  }
}

/** Goes to the next page. @returns false if there is none */
async function findPage(reader: ByteReader): Promise<boolean> {
  for (;;) {
    const near = await reader.peek(4);
    if (near.length < 4) return false;
    if (isMark(near, 0)) return true;
    const bytes = await reader.peek(4096);
    let at = 1;
    while (at + 4 <= bytes.length && !isMark(bytes, at)) at++;
    await reader.skip(at);
  }
}

function isMark(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0x4f && bytes[at + 1] === 0x67 && bytes[at + 2] === 0x67 && bytes[at + 3] === 0x53;
}
