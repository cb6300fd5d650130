import type { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { abortReason, unlessAborted } from "../core/abort.js";
import { MediaError, OptionError, PergolaError } from "../core/errors.js";
import { plainBytes } from "./byte-reader.js";
import { showValue } from "../core/validate.js";

interface ChunkTypes {
  bytes: Uint8Array;
  samples: Float32Array;
}

/** Chunks of a stream, checked; `undefined` at the end. */
export interface StreamReader<Chunk> {
  next(): Promise<Chunk | undefined>;
  /** Ends the stream: destroys a Node stream, cancels a web stream. */
  close(): Promise<void>;
}

/**
 * Reads the chunks of any iterable. A stream's own error is told as a MediaError; waiting for a chunk ends when the
 * signal is aborted.
 *
 * @param kind - what the chunks must be
 * @param path - name of the value in errors about chunks of a wrong type
 */
export function streamReader<Kind extends keyof ChunkTypes>(
  chunks: AsyncIterable<unknown> | Iterable<unknown>,
  kind: Kind,
  name: string,
  signal: AbortSignal | undefined,
  path = "audio",
): StreamReader<ChunkTypes[Kind]> {
  const iterator = begin(chunks, name);
  let index = 0;
  let finished = false;
  return {
    async next() {
      for (;;) {
        if (finished) return undefined;
        let result: IteratorResult<unknown>;
        try {
          result = await unlessAborted(Promise.resolve(iterator.next()), signal);
        } catch (error) {
          if (PergolaError.isInstance(error) || (signal?.aborted && error === abortReason(signal))) throw error;
          finished = true;
          const reason = error instanceof Error ? error.message : showValue(error);
          throw new MediaError(`The source of ${name} failed: ${reason}`, { cause: error });
        }
        if (result.done) {
          finished = true;
          return undefined;
        }
        const chunk = checkChunk(result.value, kind, { name, path, index: index++ });
        if (chunk.length > 0) return chunk as ChunkTypes[Kind];
      }
    },
    async close() {
      if (finished) return;
      finished = true;
      const ending = Promise.resolve(iterator.return?.()).catch(() => undefined);
      // A generator that waits for something ends when that comes; nobody should wait for it here.
      await Promise.race([ending, new Promise((resolve) => setImmediate(resolve))]);
    },
  };
}

/**
 * The chunks of a stream, a web stream, an async iterable, or a Blob; undefined for what is none of them.
 * Iterables that are at hand at once are left to the caller.
 */
export function chunksOf(input: unknown): AsyncIterable<unknown> | undefined {
  if (typeof input !== "object" || input === null || ArrayBuffer.isView(input)) return undefined;
  if (Symbol.asyncIterator in input) return input as AsyncIterable<unknown>;
  // Of a Blob only this is needed.
  return "stream" in input && "arrayBuffer" in input ? chunksOf((input as Blob).stream()) : undefined;
}

function begin(chunks: AsyncIterable<unknown> | Iterable<unknown>, name: string): ReturnType<typeof iterate> {
  try {
    return iterate(chunks);
  } catch (error) {
    throw new MediaError(`Cannot read ${name}: ${(error as Error).message}. A stream can be read once.`, {
      cause: error,
    });
  }
}

/** Iterates so that `return` ends the stream even while a chunk is waited for; the streams' own iterators wait first. */
function iterate(chunks: AsyncIterable<unknown> | Iterable<unknown>): AsyncIterator<unknown> | Iterator<unknown> {
  const stream = chunks as Partial<Readable> & Partial<ReadableStream>;
  if (typeof stream.getReader === "function") {
    const reader = stream.getReader();
    return {
      next: async () => reader.read() as Promise<IteratorResult<unknown>>,
      return: async () => {
        await reader.cancel();
        return { done: true, value: undefined };
      },
    };
  }
  if (!(Symbol.asyncIterator in chunks)) return chunks[Symbol.iterator]();
  const iterator = chunks[Symbol.asyncIterator]();
  if (typeof stream.destroy !== "function") return iterator;
  return {
    next: () => iterator.next(),
    return: async () => {
      stream.destroy!();
      return { done: true, value: undefined };
    },
  };
}

function checkChunk(
  chunk: unknown,
  kind: keyof ChunkTypes,
  { name, path, index }: { name: string; path: string; index: number },
): Uint8Array | Float32Array {
  if (kind === "bytes" && chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  const tag = ArrayBuffer.isView(chunk) ? (chunk as { [Symbol.toStringTag]?: string })[Symbol.toStringTag] : undefined;
  if (kind === "bytes" && tag === "Uint8Array") return plainBytes(chunk as Uint8Array);
  if (kind === "samples" && tag === "Float32Array") return chunk as Float32Array;
  const expected =
    kind === "bytes"
      ? "a Uint8Array (bytes of an encoded file)"
      : "a Float32Array (mono samples from -1 to 1, because sampleRate was given)";
  throw new OptionError(
    `Chunk ${index} of ${name} must be ${expected}, received ${showValue(chunk)}. ${remedy(chunk, kind, tag, path)}`,
    { path, expected, received: chunk },
  );
}

function remedy(chunk: unknown, kind: keyof ChunkTypes, tag: string | undefined, path: string): string {
  if (kind === "bytes" && tag === "Float32Array" && path === "audio")
    return "Pass sampleRate to say that the chunks are samples.";
  if (kind === "bytes" && typeof chunk === "string") return "Do not set an encoding on the stream.";
  if (kind === "samples" && tag === "Uint8Array") {
    return "Leave sampleRate out for an encoded file, which says its own rate; convert raw PCM to Float32Array first.";
  }
  if (tag === "Int16Array") return "Convert it: Float32Array.from(chunk, (value) => value / 32768).";
  return "Convert the chunks first.";
}
