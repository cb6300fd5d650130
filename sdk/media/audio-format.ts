/** Containers that this SDK decodes. */
export type AudioContainer = "wav" | "mp3" | "flac" | "ogg";

/** What the first bytes of a file say. */
export interface RecognizedFormat {
  /** The container, if it can be decoded. */
  container?: AudioContainer;
  /** For messages: "an AIFF file". */
  description: string;
  /** Whether ffmpeg could make a WAV of it. */
  convertible: boolean;
  /** Usual ending of such files, for the advice. */
  ending?: string;
}

/** Bytes that {@link recognizeFormat} likes to see. */
export const HEAD_BYTES = 512;

/** A rule: bytes as Latin-1 text at an offset. */
type Signature = [offset: number, text: string, description: string, ending: string | undefined];

const MEDIA: Signature[] = [
  [8, "AIFF", "an AIFF file", "aiff"],
  [8, "AIFC", "an AIFF-C file", "aifc"],
  [0, "caff", "a Core Audio (CAF) file", "caf"],
  [0, ".snd", "a Sun/NeXT audio (AU) file", "au"],
  [0, "dns.", "a Sun/NeXT audio (AU) file", "au"],
  [0, "#!AMR", "an AMR file", "amr"],
  [0, "wvpk", "a WavPack file", "wv"],
  [0, "MAC ", "a Monkey's Audio file", "ape"],
  [0, "TTA1", "a True Audio file", "tta"],
  [0, "MPCK", "a Musepack file", "mpc"],
  [0, "MP+", "a Musepack file", "mpc"],
  [0, "DSD ", "a DSD file", "dsf"],
  [0, "FRM8", "a DSD file", "dff"],
  [0, "qoaf", "a QOA file", "qoa"],
  [0, "ADIF", "an AAC file", "aac"],
  [0, "\x0b\x77", "an AC-3 file", "ac3"],
  [0, "\x7f\xfe\x80\x01", "a DTS file", "dts"],
  [0, "riff\x2e\x91\xcf\x11", "a Wave64 file", "w64"],
  [0, "\x30\x26\xb2\x75\x8e\x66\xcf\x11", "a Windows Media (ASF) file", "wma"],
  [0, "Creative Voice File", "a Creative Voice file", "voc"],
  [0, "FLV", "a Flash video", "flv"],
  [0, "\x00\x00\x01\xba", "an MPEG video", "mpg"],
  [8, "AVI ", "an AVI video", "avi"],
];

const OTHER: Signature[] = [
  [0, "MThd", "a MIDI file (notes, not sound)", undefined],
  [8, "WEBP", "a WebP image", undefined],
  [0, "\x89PNG", "a PNG image", undefined],
  [0, "\xff\xd8\xff", "a JPEG image", undefined],
  [0, "GIF8", "a GIF image", undefined],
  [0, "BM", "a BMP image", undefined],
  [0, "II*\x00", "a TIFF image", undefined],
  [0, "MM\x00*", "a TIFF image", undefined],
  [0, "%PDF", "a PDF document", undefined],
  [0, "PK\x03\x04", "a ZIP archive", undefined],
  [0, "\x1f\x8b", "a gzip archive", undefined],
  [0, "7z\xbc\xaf", "a 7z archive", undefined],
  [0, "\x7fELF", "a program", undefined],
  [0, "GGUF", "a GGUF model", undefined],
];

/** Recognizes a file by its content; its name does not count. ID3 tags must have been skipped. */
export function recognizeFormat(head: Uint8Array): RecognizedFormat {
  const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString("latin1");
  const wave = text.startsWith("WAVE", 8);
  if (wave && /^(RIFF|RIFX|RF64|BW64)/.test(text)) return decodable("wav", "a WAV file");
  if (text.startsWith("fLaC")) return decodable("flac", "a FLAC file");
  if (text.startsWith("OggS")) return decodable("ogg", "an Ogg file");
  for (const [offset, signature, description, ending] of MEDIA) {
    if (text.startsWith(signature, offset)) return { description, convertible: true, ...(ending && { ending }) };
  }
  if (text.startsWith("ftyp", 4)) return isoMedia(text.slice(8, 12));
  if (text.startsWith("\x1a\x45\xdf\xa3")) {
    return text.includes("webm") ? media("a WebM file", "webm") : media("a Matroska file", "mkv");
  }
  for (const [offset, signature, description] of OTHER) {
    if (text.startsWith(signature, offset)) return { description, convertible: false };
  }
  if (isAdts(head)) return media("an AAC (ADTS) file", "aac");
  if (isMpegAudio(head)) return decodable("mp3", "an MP3 file");
  if (head[0] === 0x47 && head[188] === 0x47) return media("an MPEG transport stream", "ts");
  return { description: describeText(head, text), convertible: false };
}

function decodable(container: AudioContainer, description: string): RecognizedFormat {
  return { container, description, convertible: true };
}

function media(description: string, ending: string): RecognizedFormat {
  return { description, convertible: true, ending };
}

function isoMedia(brand: string): RecognizedFormat {
  if (/^(heic|heix|hevc|mif1|msf1)/.test(brand)) return { description: "a HEIC image", convertible: false };
  if (/^avi[fs]/.test(brand)) return { description: "an AVIF image", convertible: false };
  if (/^M4[ABP]/.test(brand)) return media("an M4A (AAC) file", "m4a");
  if (brand.startsWith("qt")) return media("a QuickTime movie", "mov");
  if (brand.startsWith("3g")) return media("a 3GPP file", "3gp");
  return media("an MP4 file", "mp4");
}

/** Sampling rates of MPEG-1; MPEG-2 has halves, MPEG-2.5 quarters. */
const MPEG_RATES = [44100, 48000, 32000];
const BITRATES_V1: Record<number, number[]> = {
  1: [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  2: [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  3: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
};
const BITRATES_V2: Record<number, number[]> = {
  1: [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  2: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  3: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
};

/** True if a frame of MPEG audio (layers I to III) begins here and, where it can be seen, another one follows it. */
function isMpegAudio(head: Uint8Array): boolean {
  const length = mpegFrameLength(head, 0);
  if (length === undefined) return false;
  return length + 4 > head.length || mpegFrameLength(head, length) !== undefined;
}

function mpegFrameLength(bytes: Uint8Array, at: number): number | undefined {
  const [sync, second, third] = [bytes[at], bytes[at + 1], bytes[at + 2]];
  if (sync !== 0xff || second === undefined || third === undefined || (second & 0xe0) !== 0xe0) return undefined;
  const version = (second >> 3) & 3; // 0: 2.5, 2: 2, 3: 1
  const layer = 4 - ((second >> 1) & 3);
  const rate = MPEG_RATES[(third >> 2) & 3];
  const bitrate = (version === 3 ? BITRATES_V1 : BITRATES_V2)[layer]?.[third >> 4];
  if (version === 1 || layer === 4 || rate === undefined || !bitrate) return undefined;
  const hertz = version === 3 ? rate : version === 2 ? rate / 2 : rate / 4;
  const padding = (third >> 1) & 1;
  if (layer === 1) return (Math.floor((12_000 * bitrate) / hertz) + padding) * 4;
  const factor = layer === 3 && version !== 3 ? 72_000 : 144_000;
  return Math.floor((factor * bitrate) / hertz) + padding;
}

function isAdts(head: Uint8Array): boolean {
  return head[0] === 0xff && (head[1]! & 0xf6) === 0xf0 && ((head[2]! >> 2) & 15) < 13;
}

function describeText(head: Uint8Array, text: string): string {
  const start = text.replace(/^\xef\xbb\xbf/, "").trimStart();
  if (/^(<!doctype html|<html|<head|<body)/i.test(start)) return "an HTML page, not audio (an error page of a server?)";
  if (start.startsWith("<?xml")) return "an XML document";
  if (text.startsWith("version https://git-lfs")) {
    return "a Git LFS pointer, not the file itself (run git lfs pull)";
  }
  const printable = head.length > 0 && isText(head);
  if (printable && /^[{[]/.test(start)) return "a JSON document";
  if (printable) return "a text file";
  return "not in a format that is known here";
}

/** True for UTF-8 without control characters; the last character may be cut off. */
function isText(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return false;
  }
  return bytes.every((byte) => byte >= 32 || (byte >= 8 && byte <= 13) || byte === 27);
}
