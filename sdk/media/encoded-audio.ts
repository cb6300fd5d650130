import { MediaError } from "../core/errors.js";
import { HEAD_BYTES, type RecognizedFormat, recognizeFormat } from "./audio-format.js";
import { ByteReader, type ByteSource } from "./byte-reader.js";
import { openFlac } from "./flac.js";
import type { MonoAudio } from "./mono-audio.js";
import { openMp3 } from "./mp3.js";
import { openOgg } from "./ogg.js";
import { openWav } from "./wav.js";

/** Enough to recognize a WAV file; a live stream may not have more yet. */
const SHORT_HEAD = 12;

/** Zeros that are skipped behind a tag. */
const MOST_ZEROS = 1 << 24;

/** Finds out what the bytes are and opens the decoder. @throws MediaError if nothing here can read them */
export async function openEncoded(source: ByteSource): Promise<MonoAudio> {
  const reader = new ByteReader(source);
  const short = await reader.peek(SHORT_HEAD);
  if (short.length === 0) {
    throw new MediaError(`Cannot read audio from ${source.name}: it is empty (0 bytes). Pass a file that holds audio.`);
  }
  let format = recognizeFormat(short);
  if (format.container !== "wav") {
    await skipTags(reader);
    format = recognizeFormat(await reader.peek(HEAD_BYTES));
  }
  switch (format.container) {
    case "wav":
      return openWav(reader);
    case "mp3":
      return openMp3(reader);
    case "flac":
      return openFlac(reader);
    case "ogg":
      return openOgg(reader);
    default:
      throw refused(source.name, format);
  }
}

/** Skips ID3v2 and APE tags, which precede MP3 frames and sometimes other formats. */
async function skipTags(reader: ByteReader): Promise<void> {
  for (;;) {
    const length = tagLength(await reader.peek(32));
    if (length === undefined) return;
    await reader.skip(length);
    await skipZeros(reader);
  }
}

/** Bytes of the tag that begins here. */
function tagLength(head: Uint8Array): number | undefined {
  const text = Buffer.from(head).toString("latin1");
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  if (text.startsWith("APETAGEX") && head.length === 32) return 32 + view.getUint32(12, true);
  if (!text.startsWith("ID3") || head.length < 10) return undefined;
  const footer = head[5]! & 0x10 ? 10 : 0;
  // Seven bits of each byte count, so that no byte looks like the beginning of a frame; some writers use all eight.
  const bytes = [...head.subarray(6, 10)];
  const bits = bytes.some((byte) => byte > 127) ? 256 : 128;
  return 10 + bytes.reduce((size, byte) => size * bits + byte, 0) + footer;
}

/** Some writers of tags fill up with zeros. */
async function skipZeros(reader: ByteReader): Promise<void> {
  for (let portion = 0; portion < MOST_ZEROS / 4096; portion++) {
    const bytes = await reader.peek(4096);
    const zeros = bytes.findIndex((byte) => byte !== 0);
    await reader.skip(zeros < 0 ? bytes.length : zeros);
    if (zeros >= 0 || bytes.length === 0) return;
  }
}

function refused(name: string, format: RecognizedFormat): MediaError {
  const decoded = "WAV, MP3, FLAC, Ogg Vorbis and Ogg Opus are read";
  if (!format.convertible) {
    const raw = format.description.startsWith("not in") ? "; raw PCM is passed as Float32Array with sampleRate" : "";
    return new MediaError(`Cannot read audio from ${name}: it is ${format.description}. ${decoded}${raw}.`);
  }
  return new MediaError(
    `Cannot read audio from ${name}: it is ${format.description}, which is not decoded here. ` +
      `Convert it first: ffmpeg -i in.${format.ending ?? "xyz"} out.wav (${decoded}).`,
  );
}
