import { BLOCK_FRAMES, checkFinite, type MonoAudio } from "./mono-audio.js";
import { streamReader } from "./stream-reader.js";

/** Samples that are in memory. Values beyond [-1, 1] are kept as they are. */
export function memorySamples(samples: Float32Array, sampleRate: number): MonoAudio {
  const name = "the Float32Array";
  return {
    name,
    sampleRate,
    frames: samples.length,
    async *blocks(from) {
      for (let at = from; at < samples.length; at += BLOCK_FRAMES) {
        const block = samples.subarray(at, at + BLOCK_FRAMES);
        checkFinite(block, at, sampleRate, name);
        yield block;
      }
    },
  };
}

/** Samples that come from a stream, in chunks of any length. */
export function streamSamples(
  chunks: AsyncIterable<unknown> | Iterable<unknown>,
  sampleRate: number,
  signal: AbortSignal | undefined,
): { audio: MonoAudio; close: () => Promise<void> } {
  const name = "the audio stream";
  const reader = streamReader(chunks, "samples", name, signal);
  async function* blocks(from: number): AsyncGenerator<Float32Array, void, undefined> {
    let frame = 0;
    for (let chunk = await reader.next(); chunk; chunk = await reader.next()) {
      const end = frame + chunk.length;
      for (let at = Math.max(from, frame); at < end; at += BLOCK_FRAMES) {
        const block = chunk.subarray(at - frame, at - frame + BLOCK_FRAMES);
        checkFinite(block, at, sampleRate, name);
        yield block;
      }
      frame = end;
      // Chunks that are left out must not keep the event loop busy.
      if (end <= from) yield chunk.subarray(0, 0);
    }
  }
  return { audio: { name, sampleRate, frames: undefined, blocks }, close: () => reader.close() };
}
