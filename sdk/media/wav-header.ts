import { MediaError } from "../core/errors.js";
import type { ByteReader } from "./byte-reader.js";
import { HIGHEST_RATE, LOWEST_RATE } from "./mono-audio.js";

/** How samples are stored in a WAV file. */
export type WavEncoding = "integer" | "float" | "a-law" | "mu-law" | "ima-adpcm";

/** The format of a WAV file. */
export interface WavFormat {
  encoding: WavEncoding;
  channels: number;
  sampleRate: number;
  /** Bytes of one frame (all channels), or of one ADPCM block. */
  blockAlign: number;
  /** Bytes of one sample of one channel; 0 for ADPCM. */
  sampleBytes: number;
  /** Frames in a block: 1, but for ADPCM. */
  blockFrames: number;
  littleEndian: boolean;
}

/** What precedes the samples of a WAV file. */
export interface WavHeader extends WavFormat {
  /** Bytes of samples as the file says; `undefined` for files written to a pipe, which end with the stream. */
  dataBytes: number | undefined;
  /** Frames in all, from the `fact` chunk; only of use for ADPCM, whose last block may be filled up. */
  factFrames: number | undefined;
}

const UNKNOWN_SIZE = 0xffffffff;
const MOST_CHANNELS = 256;
const LONGEST_BLOCK = 65_536;

/** Format tags by name; for messages, but for the few that are decoded. */
const TAGS: Record<number, string> = {
  0x0001: "PCM",
  0x0002: "Microsoft ADPCM",
  0x0003: "IEEE float",
  0x0006: "A-law",
  0x0007: "mu-law",
  0x0011: "IMA ADPCM",
  0x0014: "G.723 ADPCM",
  0x0031: "GSM 6.10",
  0x0045: "G.726 ADPCM",
  0x0050: "MPEG audio",
  0x0055: "MP3",
  0x0092: "Dolby AC-3",
  0x00ff: "AAC",
  0x0160: "Windows Media Audio 1",
  0x0161: "Windows Media Audio 2",
  0x0162: "Windows Media Audio Professional",
  0x1600: "AAC (ADTS)",
  0x1610: "AAC (HE)",
  0xf1ac: "FLAC",
};
const EXTENSIBLE = 0xfffe;
/** A format tag as a GUID: these bytes follow it. */
const GUID_TAIL = "000000001000800000aa00389b71";

/**
 * Reads the chunks up to the first sample; the reader then stands there. Knows RIFF, RIFX (big-endian) and RF64/BW64.
 *
 * @throws MediaError if the header is damaged, or its format is not decoded here
 */
export async function readWavHeader(reader: ByteReader): Promise<WavHeader> {
  const name = reader.source.name;
  const riff = view(await reader.take(12));
  const littleEndian = text(riff, 0) !== "RIFX";
  const riffSize = riff.getUint32(4, littleEndian);
  let format: WavFormat | undefined;
  let factFrames: number | undefined;
  let longSize: number | undefined;
  for (;;) {
    const head = view(await reader.take(8));
    if (head.byteLength < 8) throw damaged(name, "it ends before any samples: there is no data chunk");
    const id = text(head, 0);
    const size = head.getUint32(4, littleEndian);
    if (id === "data") {
      if (!format) throw damaged(name, "its data chunk comes before its fmt chunk");
      const dataBytes = dataSize(size, longSize, riffSize, reader.position);
      return { ...format, dataBytes, factFrames };
    }
    const body = view(await reader.peek(Math.min(size, 64)));
    if (id === "fmt ") format = parseFormat(body, littleEndian, name);
    else if (id === "fact" && body.byteLength >= 4) factFrames = body.getUint32(0, littleEndian);
    else if (id === "ds64" && body.byteLength >= 16) longSize = Number(body.getBigUint64(8, littleEndian));
    await reader.skip(size);
    if (size % 2 === 1) await skipPadding(reader);
  }
}

/** Chunks of odd size are followed by a zero; some writers forget it. */
async function skipPadding(reader: ByteReader): Promise<void> {
  const next = view(await reader.peek(4));
  if (next.byteLength === 4 && ["data", "fmt ", "fact", "LIST"].includes(text(next, 0))) return;
  await reader.skip(1);
}

/** Programs that write to a pipe cannot know the size: they leave 0 or a very large number. */
function dataSize(size: number, longSize: number | undefined, riffSize: number, dataStart: number): number | undefined {
  if (size === UNKNOWN_SIZE) {
    return longSize !== undefined && longSize > 0 && Number.isSafeInteger(longSize) ? longSize : undefined;
  }
  if (size > 0) return size;
  const riffEnd = riffSize + 8;
  // A RIFF chunk that ends where the samples begin was never completed either; a longer one holds other chunks.
  return riffSize === 0 || riffSize === UNKNOWN_SIZE || riffEnd <= dataStart ? undefined : 0;
}

function parseFormat(body: DataView, littleEndian: boolean, name: string): WavFormat {
  if (body.byteLength < 16) {
    throw damaged(name, `its fmt chunk has ${body.byteLength} bytes, but needs at least 16`);
  }
  const channels = body.getUint16(2, littleEndian);
  const sampleRate = body.getUint32(4, littleEndian);
  const blockAlign = body.getUint16(12, littleEndian);
  const bits = body.getUint16(14, littleEndian);
  const tag = formatTag(body, littleEndian, name);
  if (channels === 0 || channels > MOST_CHANNELS) {
    throw damaged(name, `its header says ${channels} channels (possible: 1 to ${MOST_CHANNELS})`);
  }
  if (sampleRate < LOWEST_RATE || sampleRate > HIGHEST_RATE) {
    throw damaged(
      name,
      `its header says a sampling rate of ${sampleRate} Hz (possible: ${LOWEST_RATE} to ${HIGHEST_RATE})`,
    );
  }
  const common = { channels, sampleRate, blockAlign, littleEndian };
  if (tag === 0x11) return { ...common, ...adpcmBlock(blockAlign, bits, channels, name) };
  const encoding = ({ 1: "integer", 3: "float", 6: "a-law", 7: "mu-law" } as const)[tag];
  if (!encoding) throw notDecoded(tag, name);
  const possible = { integer: [8, 16, 24, 32], float: [32, 64], "a-law": [8], "mu-law": [8] }[encoding];
  // 12 or 20 bits are stored in the upper bits of 16 or 24.
  const stored = encoding === "integer" ? Math.ceil(bits / 8) * 8 : bits;
  if (!possible.includes(stored)) {
    throw damaged(name, `its header says ${bits} bits a sample (possible for ${TAGS[tag]}: ${possible.join(", ")})`);
  }
  const sampleBytes = stored / 8;
  if (blockAlign !== channels * sampleBytes) {
    throw damaged(
      name,
      `its header says a block align of ${blockAlign} bytes, but ${channels} channel(s) of ${bits} bits need ` +
        `${channels * sampleBytes}`,
    );
  }
  return { ...common, encoding, sampleBytes, blockFrames: 1 };
}

/** The format tag, from the extension where that holds it. */
function formatTag(body: DataView, littleEndian: boolean, name: string): number {
  const tag = body.getUint16(0, littleEndian);
  if (tag !== EXTENSIBLE) return tag;
  if (body.byteLength < 40) {
    throw damaged(name, `its fmt chunk is WAVE_FORMAT_EXTENSIBLE, but has ${body.byteLength} bytes in place of 40`);
  }
  const guid = Buffer.from(body.buffer, body.byteOffset + 24, 16).toString("hex");
  // The first fields of a GUID are numbers, and so turn round in big-endian files.
  if (littleEndian && !guid.endsWith(GUID_TAIL)) {
    throw new MediaError(
      `Cannot read audio from ${name}: its WAVE_FORMAT_EXTENSIBLE sub-format ${guid} is not decoded here. ${CONVERT}`,
    );
  }
  return littleEndian ? body.getUint16(24, true) : body.getUint32(24, false);
}

function adpcmBlock(
  blockAlign: number,
  bits: number,
  channels: number,
  name: string,
): Pick<WavFormat, "encoding" | "sampleBytes" | "blockFrames"> {
  const head = 4 * channels;
  if (bits !== 4) throw damaged(name, `its header says ${bits} bits a sample (possible for IMA ADPCM: 4)`);
  if (blockAlign < head || blockAlign % head !== 0 || blockAlign > LONGEST_BLOCK) {
    throw damaged(
      name,
      `its header says a block align of ${blockAlign} bytes, but IMA ADPCM with ${channels} channel(s) needs a multiple of ${head}`,
    );
  }
  return { encoding: "ima-adpcm", sampleBytes: 0, blockFrames: ((blockAlign - head) / head) * 8 + 1 };
}

const CONVERT = "Convert it to PCM first: ffmpeg -i in.wav out.wav.";

function notDecoded(tag: number, name: string): MediaError {
  const code = `0x${tag.toString(16).padStart(4, "0")}`;
  return new MediaError(
    `Cannot read audio from ${name}: its WAV format tag is ${code} (${TAGS[tag] ?? "unknown"}), which is not decoded ` +
      `here (PCM, IEEE float, A-law, mu-law and IMA ADPCM are). ${CONVERT}`,
  );
}

function damaged(name: string, what: string): MediaError {
  return new MediaError(
    `Cannot read audio from ${name}: ${what}. The WAV header is damaged; export the file again, or rebuild the header ` +
      "with ffmpeg -i in.wav out.wav.",
  );
}

function view(bytes: Uint8Array): DataView {
  // The reader's memory is used again.
  return new DataView(bytes.slice().buffer);
}

function text(bytes: DataView, at: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + at, 4).toString("latin1");
}
