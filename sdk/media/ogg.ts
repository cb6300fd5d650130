import { MediaError } from "../core/errors.js";
import { HEAD_BYTES } from "./audio-format.js";
import type { ByteReader } from "./byte-reader.js";
import { noDecoder, openWithDecoder } from "./decoder-package.js";
import { openFlac } from "./flac.js";
import type { MonoAudio } from "./mono-audio.js";
import { openOpus } from "./opus.js";

/** What the first packet of an Ogg stream begins with. */
const CODECS: [mark: string, codec: string][] = [
  ["OpusHead", "Opus"],
  ["\x01vorbis", "Vorbis"],
  ["\x7fFLAC", "FLAC"],
  ["Speex   ", "Speex"],
  ["\x80theora", "Theora (video)"],
  ["fishead\0", "Skeleton (several streams)"],
  ["\x80kate", "Kate (text)"],
];

/** Opens an Ogg file with the decoder of its codec. @throws MediaError for codecs other than Opus, Vorbis and FLAC */
export async function openOgg(reader: ByteReader): Promise<MonoAudio> {
  const { name } = reader.source;
  const head = Buffer.from(await reader.peek(HEAD_BYTES)).toString("latin1");
  const payload = 27 + head.charCodeAt(26);
  const codec = CODECS.find(([mark]) => head.startsWith(mark, payload))?.[1];
  switch (codec) {
    case "Opus":
      return openOpus(reader);
    case "FLAC":
      return openFlac(reader);
    case "Vorbis": {
      const { OggVorbisDecoder } = await import("@wasm-audio-decoders/ogg-vorbis").catch(
        noDecoder("@wasm-audio-decoders/ogg-vorbis", "an Ogg Vorbis file", name),
      );
      return openWithDecoder(reader, new OggVorbisDecoder(), "an Ogg Vorbis file", 8192);
    }
    default:
      throw new MediaError(
        `Cannot read audio from ${name}: its Ogg codec is ${codec ?? "unknown"}, which is not decoded here (Opus, Vorbis ` +
          "and FLAC are). Convert it first: ffmpeg -i in.ogg out.wav.",
      );
  }
}
