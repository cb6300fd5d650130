import { closeSync, constants, openSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { abortReason, unlessAborted } from "../core/abort.js";
import { MediaError } from "../core/errors.js";
import { type ByteSource, plainBytes } from "./byte-reader.js";
import { streamReader } from "./stream-reader.js";

const FILE_PIECE = 256 * 1024;
const MEMORY_PIECE = 256 * 1024;

/** An encoded file that is in memory. */
export function memorySource(bytes: Uint8Array, name: string): ByteSource {
  const plain = plainBytes(bytes);
  let position = 0;
  return {
    name,
    size: bytes.length,
    async next() {
      if (position >= plain.length) return undefined;
      const piece = plain.subarray(position, position + MEMORY_PIECE);
      position += piece.length;
      return piece;
    },
    seek(to) {
      position = to;
    },
    async close() {},
  };
}

/** An encoded file whose bytes come from a Node stream, a web stream or any (async) iterable. */
export function streamSource(
  chunks: AsyncIterable<unknown> | Iterable<unknown>,
  name: string,
  signal: AbortSignal | undefined,
  path = "audio",
): ByteSource {
  const reader = streamReader(chunks, "bytes", name, signal, path);
  return { name, size: undefined, next: () => reader.next(), close: () => reader.close() };
}

/** What a file should hold, in messages. */
export type MediaKind = "audio" | "image";

const WORDS = {
  audio: { content: "audio", file: "audio file" },
  image: { content: "an image", file: "image file" },
};

/**
 * Opens a file. Named pipes (and `/dev/stdin`) are read as streams.
 *
 * @param path - absolute
 * @throws MediaError if there is no such file, or it cannot be read; or the signal's reason
 */
export async function fileSource(
  path: string,
  signal: AbortSignal | undefined,
  kind: MediaKind = "audio",
): Promise<ByteSource> {
  let handle: FileHandle;
  try {
    handle = await openFile(path, signal);
  } catch (error) {
    if (signal?.aborted) throw abortReason(signal);
    throw unreadable(path, error, kind);
  }
  const found = await handle.stat();
  if (found.isFIFO() || found.isSocket()) {
    return streamSource(handle.createReadStream(), path, signal);
  }
  if (!found.isFile()) {
    await handle.close();
    throw new MediaError(
      `Cannot read ${WORDS[kind].content} from ${path}: ` +
        (found.isDirectory()
          ? `it is a folder. Pass the path of one ${WORDS[kind].file}.`
          : `it is a device, not a file. Pass a file, or ${kind === "audio" ? "a stream of its bytes" : "its bytes"}.`),
    );
  }
  return openedFile(handle, path, found.size, kind);
}

/** Opening a named pipe waits for its writer, which the signal ends. */
async function openFile(path: string, signal: AbortSignal | undefined): Promise<FileHandle> {
  const opening = open(path, "r");
  try {
    return await unlessAborted(opening, signal);
  } catch (error) {
    if (signal?.aborted) void abandon(opening, path);
    throw error;
  }
}

/**
 * Ends an `open` that nobody wants any more. What waits for a pipe's writer holds a thread, and the process would not end: a
 * writer comes and goes until it is through. Synchronous, because all threads may be held so; none of these calls waits.
 */
async function abandon(opening: Promise<FileHandle>, path: string): Promise<void> {
  let isThrough = false;
  const through = opening
    .then((late) => late.close())
    .catch(() => undefined)
    .finally(() => (isThrough = true));
  while (!isThrough && statSync(path, { throwIfNoEntry: false })?.isFIFO()) {
    try {
      closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
    } catch {
      // It does not wait yet (ENXIO), or may not be written to.
    }
    await Promise.race([through, setTimeout(10)]);
  }
}

function openedFile(handle: FileHandle, name: string, size: number, kind: MediaKind): ByteSource {
  const memory = new Uint8Array(Math.min(FILE_PIECE, Math.max(1, size)));
  let position = 0;
  let closing: Promise<void> | undefined;
  return {
    name,
    size,
    async next() {
      let bytesRead: number;
      try {
        ({ bytesRead } = await handle.read(memory, 0, memory.length, position));
      } catch (error) {
        throw unreadable(name, error, kind);
      }
      if (bytesRead === 0) return undefined;
      position += bytesRead;
      return memory.subarray(0, bytesRead);
    },
    seek(to) {
      position = to;
    },
    close: () => (closing ??= handle.close()),
  };
}

const REASONS: Record<string, string> = {
  ENOENT: "there is no such file. Check the path (relative paths count from the working directory)",
  ENOTDIR: "a part of the path is a file, not a folder. Check the path",
  EACCES: "no permission to read it. Change the permissions or copy the file",
  EPERM: "no permission to read it. Change the permissions or copy the file",
  ENAMETOOLONG: "the path is too long for this system. Encoded bytes are passed as a Buffer, not as a string",
  ELOOP: "its links go round in a circle. Pass the path of the file itself",
  EISDIR: "it is a folder. Pass the path of one file",
};

function unreadable(path: string, error: unknown, kind: MediaKind): MediaError {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  const shown = path.length > 200 ? `${path.slice(0, 200)}… (${path.length} characters)` : path;
  const reason = REASONS[code] ?? `${(error as Error).message}. Check the file and the disk`;
  return new MediaError(`Cannot read ${WORDS[kind].content} from ${shown}: ${reason}.`, { cause: error });
}
