import type { ByteReader } from "./byte-reader.js";
import { noDecoder, openWithDecoder } from "./decoder-package.js";
import type { MonoAudio } from "./mono-audio.js";

/** Opens MPEG audio (layers I to III) with mpg123 as WebAssembly. The encoder's silence at both ends is left out. */
export async function openMp3(reader: ByteReader): Promise<MonoAudio> {
  const { MPEGDecoder } = await import("mpg123-decoder").catch(
    noDecoder("mpg123-decoder", "an MP3 file", reader.source.name),
  );
  return openWithDecoder(reader, new MPEGDecoder(), "an MP3 file", 4096);
}
