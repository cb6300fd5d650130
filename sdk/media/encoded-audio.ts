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

/** Finds out what the bytes are and opens the decoder. @throws MediaError if nothing here can read them */
export async function openEncoded(source: ByteSource): Promise<MonoAudio> {
  const reader = new ByteReader(source);
  const short = await reader.peek(SHORT_HEAD);
  if (short.length === 0) {
    throw new MediaError(`Cannot read audio from ${source.name}: it is empty (0 bytes). Pass a file that holds audio.`);
  }
  let format = recognizeFormat(short);
  if (format.container !== "wav") {
    await skipId3(reader);
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

/** Skips ID3v2 tags, which precede MP3 frames and sometimes other formats. */
async function skipId3(reader: ByteReader): Promise<void> {
  for (;;) {
    const head = await reader.peek(10);
    if (head.length < 10 || Buffer.from(head.subarray(0, 3)).toString("latin1") !== "ID3") return;
    // Seven bits of each byte count, so that no byte looks like the beginning of a frame.
    const size = (head[6]! << 21) | (head[7]! << 14) | (head[8]! << 7) | head[9]!;
    const footer = head[5]! & 0x10 ? 10 : 0;
    await reader.skip(10 + size + footer);
    await skipZeros(reader);
  }
}

/** Some writers of tags fill up with zeros. */
async function skipZeros(reader: ByteReader): Promise<void> {
  for (let portion = 0; portion < 256; portion++) {
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
