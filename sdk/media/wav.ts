import type { ByteReader } from "./byte-reader.js";
import { BLOCK_FRAMES, checkFinite, fromFrame, type MonoAudio } from "./mono-audio.js";
import { readWavHeader, type WavHeader } from "./wav-header.js";
import { wavSampleDecoder } from "./wav-samples.js";

/**
 * Opens a WAV file. Only the header is read; samples are decoded block by block, so that memory does not depend on the
 * file's length. Files that were cut off are decoded as far as they go.
 *
 * @throws MediaError if the header is damaged, or its format is not decoded here
 */
export async function openWav(reader: ByteReader): Promise<MonoAudio> {
  const header = await readWavHeader(reader);
  const { size, name } = reader.source;
  const rest = size === undefined ? undefined : size - reader.position;
  const bytes = Math.min(header.dataBytes ?? Infinity, rest ?? Infinity);
  return {
    name,
    sampleRate: header.sampleRate,
    // What a header promises is no more than a promise while the file is still coming.
    frames: rest === undefined ? undefined : framesIn(header, bytes),
    blocks: (from) => decode(reader, header, name, from),
  };
}

/** Frames in this many bytes of data. */
function framesIn(header: WavHeader, bytes: number): number {
  const whole = Math.floor(bytes / header.blockAlign);
  if (header.encoding !== "ima-adpcm") return whole;
  const left = bytes - whole * header.blockAlign;
  const heads = 4 * header.channels;
  const partial = left < heads ? 0 : Math.floor((left - heads) / heads) * 8 + 1;
  const stored = whole * header.blockFrames + partial;
  return Math.min(stored, framesSaid(header, bytes) ?? Infinity);
}

/** The number of frames that the file tells, if it can be: programs disagree on what it is for several channels. */
function framesSaid({ encoding, factFrames, blockFrames, blockAlign }: WavHeader, bytes: number): number | undefined {
  if (encoding !== "ima-adpcm" || factFrames === undefined) return undefined;
  const blocks = Math.ceil(bytes / blockAlign);
  return factFrames > (blocks - 1) * blockFrames && factFrames <= blocks * blockFrames ? factFrames : undefined;
}

async function* decode(
  reader: ByteReader,
  header: WavHeader,
  name: string,
  from: number,
): AsyncGenerator<Float32Array, void, undefined> {
  const { blockAlign, blockFrames, encoding, sampleRate, dataBytes = Infinity } = header;
  const decodeBlock = wavSampleDecoder(header);
  const first = Math.floor(from / blockFrames);
  let left = dataBytes - first * blockAlign;
  if (left <= 0) return;
  await reader.skip(first * blockAlign);
  // ADPCM is decoded one block at a time.
  const most = blockFrames === 1 ? Math.max(1, Math.min(BLOCK_FRAMES, 131_072 / blockAlign)) * blockAlign : blockAlign;
  const cut = (framesSaid(header, dataBytes) ?? Infinity) - first * blockFrames;
  const blocks = async function* (): AsyncGenerator<Float32Array, void, undefined> {
    let frame = first * blockFrames;
    for (let produced = 0; left > 0 && produced < cut;) {
      const unit = Math.min(blockAlign, left);
      const bytes = await reader.takeAvailable(unit, Math.min(most, left));
      if (bytes.length === 0) return;
      left -= bytes.length;
      const usable = blockFrames === 1 ? bytes.length - (bytes.length % blockAlign) : bytes.length;
      const mono = decodeBlock(bytes.subarray(0, usable)).subarray(0, cut - produced);
      if (encoding === "float") checkFinite(mono, frame, sampleRate, name);
      produced += mono.length;
      frame += mono.length;
      yield mono;
    }
  };
  yield* fromFrame(blocks(), from - first * blockFrames);
}
