import type { ByteReader } from "./byte-reader.js";
import { loadDecoderPackage, openWithDecoder } from "./decoder-package.js";
import type { MonoAudio } from "./mono-audio.js";

/** Opens FLAC, also within Ogg, with libFLAC as WebAssembly. */
export async function openFlac(reader: ByteReader): Promise<MonoAudio> {
  const load = () => import("@wasm-audio-decoders/flac");
  const { FLACDecoder } = await loadDecoderPackage(
    load,
    "@wasm-audio-decoders/flac",
    "a FLAC file",
    reader.source.name,
  );
  return openWithDecoder(reader, new FLACDecoder(), "a FLAC file", 16_384);
}
