import type { FLACDecodedAudio } from "@wasm-audio-decoders/flac";
import type { ByteReader } from "./byte-reader.js";
import { noDecoder, openWithDecoder } from "./decoder-package.js";
import type { MonoAudio } from "./mono-audio.js";

/** Opens FLAC, also within Ogg, with libFLAC as WebAssembly. */
export async function openFlac(reader: ByteReader): Promise<MonoAudio> {
  const { FLACDecoder } = await import("@wasm-audio-decoders/flac").catch(
    noDecoder("@wasm-audio-decoders/flac", "a FLAC file", reader.source.name),
  );
  const decoder = new FLACDecoder();
  return openWithDecoder(
    reader,
    {
      ready: decoder.ready,
      decode: async (bytes) => rescale(await decoder.decode(bytes)),
      flush: async () => rescale(await decoder.flush()),
    },
    "a FLAC file",
    16_384,
  );
}

/** The decoder divides by the largest value (32767 for 16 bits); everything else here divides by 32768. */
function rescale(piece: FLACDecodedAudio): FLACDecodedAudio {
  const factor = 1 - 2 ** (1 - piece.bitDepth);
  for (const channel of piece.channelData) {
    for (let index = 0; index < channel.length; index++) channel[index] = channel[index]! * factor;
  }
  return piece;
}
