import type { OpusDecoder } from "opus-decoder";
import { MediaError } from "../core/errors.js";
import type { ByteReader } from "./byte-reader.js";
import { noDecoder, quietly } from "./decoder-package.js";
import { ChannelMixer } from "./channel-mixer.js";
import { fromFrame, type MonoAudio } from "./mono-audio.js";
import { type OggPage, oggPages } from "./ogg-packets.js";

/** Opus always decodes at this rate; what the header says is the rate of the recording. */
const OPUS_RATE = 48_000;

/** Fields of the identification header (RFC 7845, section 5.1). */
interface OpusHead {
  channels: number;
  /** Samples at the beginning that are not part of the recording. */
  preSkip: number;
  /** Factor for all samples. */
  gain: number;
  streamCount: number;
  coupledStreamCount: number;
  channelMappingTable: number[];
}

/** Opens an Ogg Opus file (RFC 7845) with libopus as WebAssembly. */
export async function openOpus(reader: ByteReader): Promise<MonoAudio> {
  const { name } = reader.source;
  return { name, sampleRate: OPUS_RATE, frames: undefined, blocks: (from) => fromFrame(decode(reader, name), from) };
}

async function* decode(reader: ByteReader, name: string): AsyncGenerator<Float32Array, void, undefined> {
  let stream: OpusStream | undefined;
  let decoded = 0;
  for await (const page of oggPages(reader)) {
    if (page.begins) {
      const [first] = page.packets;
      stream = await OpusStream.open(parseHead(first, name), name);
      continue;
    }
    for (const block of stream?.decode(page, name) ?? []) {
      decoded += block.length;
      yield block;
    }
  }
  if (decoded === 0 && !stream?.complete) {
    throw new MediaError(
      `Cannot read audio from ${name}: it looks like an Ogg Opus file, but no part of it can be decoded. ` +
        "The file is damaged or incomplete; get it again.",
    );
  }
}

/** One logical stream: a file may hold several, one after the other. */
class OpusStream {
  readonly #decoder: OpusDecoder;
  readonly #head: OpusHead;
  readonly #mixer = new ChannelMixer(OPUS_RATE);
  /** Samples decoded so far, those to leave out included. */
  #decoded = 0;
  /** Granule position at which the stream began; recordings of broadcasts do not begin at 0. */
  #origin: number | undefined;
  /** The packet with the tags is still to come. */
  #awaitsTags = true;
  /** The last page was there. */
  complete = false;

  private constructor(decoder: OpusDecoder, head: OpusHead) {
    this.#decoder = decoder;
    this.#head = head;
  }

  static async open(head: OpusHead, name: string): Promise<OpusStream> {
    const { OpusDecoder } = await import("opus-decoder").catch(noDecoder("opus-decoder", "an Ogg Opus file", name));
    const { channels, streamCount, coupledStreamCount, channelMappingTable } = head;
    const decoder = new OpusDecoder({ channels, streamCount, coupledStreamCount, channelMappingTable });
    await decoder.ready;
    return new OpusStream(decoder, head);
  }

  /** Decodes the packets of a page, a few at a time: a page may hold a second or more. */
  *decode(page: OggPage, name: string): Generator<Float32Array> {
    const blocks: Float32Array[] = [];
    let packets = page.packets;
    if (this.#awaitsTags && packets.length > 0) {
      this.#awaitsTags = false;
      // Tags with large pictures, or damaged ones, have been left out already: then the first packet is sound.
      if (isTags(packets[0]!)) packets = packets.slice(1);
    }
    this.complete ||= page.ends;
    const before = this.#decoded;
    for (const packet of packets) {
      const block = this.#decodePacket(packet, name);
      this.#decoded += block.length;
      blocks.push(block);
    }
    if (this.#decoded > before) {
      // On the last page the position says where the recording ends, which may be before the last packet does.
      this.#origin ??= page.ends || page.granule < 0 ? 0 : Math.max(0, page.granule - this.#decoded);
    }
    const end = page.ends && page.granule >= 0 ? page.granule - (this.#origin ?? 0) : Infinity;
    let at = before;
    for (const block of blocks) {
      const from = Math.max(0, this.#head.preSkip - at);
      const to = Math.min(block.length, end - at);
      at += block.length;
      if (to > from) yield block.subarray(from, to);
    }
  }

  #decodePacket(packet: Uint8Array, name: string): Float32Array {
    try {
      const { channelData, samplesDecoded } = quietly(() => this.#decoder.decodeFrame(packet));
      const mono = this.#mixer.mix(channelData, samplesDecoded);
      const { gain } = this.#head;
      return gain === 1 ? mono : mono.map((value) => value * gain);
    } catch (error) {
      throw new MediaError(
        `Cannot read audio from ${name}: decoding an Opus packet of ${packet.length} bytes failed ` +
          `(${(error as Error).message}). The file is damaged; get it again.`,
        { cause: error },
      );
    }
  }
}

function isTags(packet: Uint8Array): boolean {
  return Buffer.from(packet.subarray(0, 8)).toString("latin1") === "OpusTags";
}

function parseHead(packet: Uint8Array | undefined, name: string): OpusHead {
  const bytes = Buffer.from(packet ?? []);
  const channels = bytes[9] ?? 0;
  const version = bytes[8] ?? 0;
  if (bytes.length < 19 || bytes.toString("latin1", 0, 8) !== "OpusHead" || channels === 0 || version > 15) {
    throw new MediaError(`Cannot read audio from ${name}: its Opus header is damaged. Get the file again.`);
  }
  const common = { channels, preSkip: bytes.readUInt16LE(10), gain: 10 ** (bytes.readInt16LE(16) / 256 / 20) };
  if (bytes[18] === 0 && channels <= 2) {
    const table = channels === 2 ? [0, 1] : [0];
    return { ...common, streamCount: 1, coupledStreamCount: channels - 1, channelMappingTable: table };
  }
  const [streamCount, coupledStreamCount] = [bytes[19] ?? 0, bytes[20] ?? 0];
  const channelMappingTable = [...bytes.subarray(21, 21 + channels)];
  const sound = streamCount + coupledStreamCount;
  const fits = channelMappingTable.length === channels && channelMappingTable.every((at) => at < sound || at === 255);
  if (!fits || streamCount === 0 || coupledStreamCount > streamCount || sound > 255) {
    throw new MediaError(
      `Cannot read audio from ${name}: its Opus channel mapping (${channels} channels, ${streamCount} streams, ` +
        `${coupledStreamCount} of them stereo) is damaged. Get the file again.`,
    );
  }
  return { ...common, streamCount, coupledStreamCount, channelMappingTable };
}
