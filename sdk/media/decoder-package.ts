import { MediaError } from "../core/errors.js";
import { isBundled, keepExternal } from "../core/own-file.js";
import type { ByteReader } from "./byte-reader.js";
import { ChannelMixer } from "./channel-mixer.js";
import { fromFrame, HIGHEST_RATE, LOWEST_RATE, type MonoAudio } from "./mono-audio.js";

/** What the WebAssembly decoders of npm give. */
export interface DecodedPiece {
  channelData: Float32Array[];
  samplesDecoded: number;
  sampleRate: number;
}

/**
 * A decoder that takes a file in pieces of any length. Its `free` is not called: it frees memory within WebAssembly, all
 * of which goes with the decoder, and traps after damaged files.
 */
export interface PieceDecoder {
  readonly ready: Promise<void>;
  decode(bytes: Uint8Array): DecodedPiece | Promise<DecodedPiece>;
  /** Ends the file. */
  flush?(): Promise<DecodedPiece>;
}

/**
 * What follows when a decoder's package cannot be loaded. Users install these packages if they need them: their code is under
 * the LGPL, so they are not among the dependencies of this SDK. Written as `import("…").catch(noDecoder(…))`, because
 * bundlers take a missing package for an error unless the import itself is followed by `catch`.
 *
 * @throws MediaError saying what to do
 */
export function noDecoder(packageName: string, format: string, name: string): (error: unknown) => never {
  return (error) => {
    const remedy = isBundled()
      ? `Reason: ${error instanceof Error ? error.message : String(error)}. Install it beside the program (npm install ` +
        `${packageName}). ${keepExternal(packageName)} Or`
      : `Install it: npm install ${packageName}; or`;
    throw new MediaError(
      `Cannot read audio from ${name}: it is ${format}, and the package that decodes it could not be loaded. ` +
        `${remedy} convert the file: ffmpeg -i in.xyz out.wav.`,
      { cause: error },
    );
  };
}

/**
 * Decodes a file with a piece decoder. Damaged places are left out as the decoder sees fit; a file without a single frame
 * that can be decoded is an error.
 *
 * @param pieceBytes - given to the decoder at once; small, because the event loop waits meanwhile
 */
export async function openWithDecoder(
  reader: ByteReader,
  decoder: PieceDecoder,
  format: string,
  pieceBytes: number,
): Promise<MonoAudio> {
  const { name } = reader.source;
  const pieces = decodePieces(reader, decoder, format, pieceBytes);
  // The rate is known when the first samples are.
  const first = await pieces.next();
  if (first.done) {
    throw new MediaError(
      `Cannot read audio from ${name}: it looks like ${format}, but no part of it can be decoded. ` +
        "The file is damaged or incomplete; get it again.",
    );
  }
  const { sampleRate } = first.value;
  if (sampleRate < LOWEST_RATE || sampleRate > HIGHEST_RATE) {
    throw new MediaError(
      `Cannot read audio from ${name}: it says a sampling rate of ${sampleRate} Hz (possible: ${LOWEST_RATE} to ` +
        `${HIGHEST_RATE}). The file is damaged; get it again.`,
    );
  }
  const mixer = new ChannelMixer(sampleRate);
  const mono = ({ channelData, samplesDecoded }: DecodedPiece): Float32Array => mixer.mix(channelData, samplesDecoded);
  const blocks = async function* (): AsyncGenerator<Float32Array, void, undefined> {
    try {
      yield mono(first.value);
      for await (const piece of pieces) {
        if (piece.sampleRate !== sampleRate) {
          throw new MediaError(
            `Cannot read audio from ${name}: its sampling rate changes from ${sampleRate} to ${piece.sampleRate} Hz. ` +
              "Convert it first: ffmpeg -i in.xyz out.wav.",
          );
        }
        yield mono(piece);
      }
    } finally {
      await pieces.return();
    }
  };
  return { name, sampleRate, frames: undefined, blocks: (from) => fromFrame(blocks(), from) };
}

async function* decodePieces(
  reader: ByteReader,
  decoder: PieceDecoder,
  format: string,
  pieceBytes: number,
): AsyncGenerator<DecodedPiece, void, undefined> {
  const attempt = async (work: () => DecodedPiece | Promise<DecodedPiece>): Promise<DecodedPiece> => {
    try {
      return await quietly(work);
    } catch (error) {
      throw new MediaError(
        `Cannot read audio from ${reader.source.name}: decoding ${format} failed near byte ${reader.position} ` +
          `(${error instanceof Error ? error.message : String(error)}). The file is damaged; get it again.`,
        { cause: error },
      );
    }
  };
  await decoder.ready;
  for (;;) {
    const bytes = await reader.takeAvailable(1, pieceBytes);
    if (bytes.length === 0) break;
    // Decoders keep what they are given.
    const copy = bytes.slice();
    const piece = await attempt(() => decoder.decode(copy));
    if (piece.samplesDecoded > 0) yield piece;
  }
  if (!decoder.flush) return;
  const rest = await attempt(() => decoder.flush!());
  if (rest.samplesDecoded > 0) yield rest;
}

/** Calls a decoder without what it writes to the console about damaged frames. Only its synchronous part is covered. */
export function quietly<Value>(work: () => Value): Value {
  const output: object = globalThis.console;
  const names = ["error", "warn", "log"];
  const before = names.map((name) => [name, Object.getOwnPropertyDescriptor(output, name)] as const);
  for (const name of names) {
    Object.defineProperty(output, name, { value: () => undefined, configurable: true, writable: true });
  }
  try {
    return work();
  } finally {
    for (const [name, descriptor] of before) {
      if (descriptor) Object.defineProperty(output, name, descriptor);
      else Reflect.deleteProperty(output, name);
    }
  }
}
