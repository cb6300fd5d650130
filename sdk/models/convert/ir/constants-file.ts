import { open, readFile, rename, rm, stat, writeFile, type FileHandle } from "node:fs/promises";
import { throwIfAborted } from "../../../core/abort.js";
import type { Graph, GraphNode } from "./graph.js";

/** Constants start at multiples of this, so that kernels can use them where they lie in the mapped file. */
const ALIGNMENT = 64;
/** After so many bytes it is noted how far the file has come. */
const NOTE_BYTES = 128 * 2 ** 20;

/** Where a constant lies in the `.bin` file. */
export interface Place {
  offset: number;
  size: number;
}

/** What writing reports and what ends it. */
export interface WriteControl {
  signal?: AbortSignal | undefined;
  /** Told how many more bytes of constants are there. */
  onBytes?: ((bytes: number) => void) | undefined;
  /** For tests: another value for 128 MB. */
  noteBytes?: number;
}

/** Bytes of all constants of a graph. */
export function constantBytes({ nodes }: Graph): number {
  return nodes.reduce((sum, { data }) => sum + (data?.byteLength ?? 0), 0);
}

/** Bytes of the `.bin` file of a graph: its constants and what lies between them. */
export function binBytes(graph: Graph): number {
  let end = 0;
  for (const { offset, size } of placesOf(graph).values()) end = offset + size;
  return end;
}

/** Where each constant goes: one after the other, in the order in which they were made. */
export function placesOf({ nodes }: Graph): Map<GraphNode, Place> {
  const places = new Map<GraphNode, Place>();
  let position = 0;
  for (const node of nodes) {
    if (!node.data) continue;
    const offset = Math.ceil(position / ALIGNMENT) * ALIGNMENT;
    places.set(node, { offset, size: node.data.byteLength });
    position = offset + node.data.byteLength;
  }
  return places;
}

/**
 * Bytes of the file that need not be written again.
 *
 * @param bin - its name when it is complete
 */
export async function bytesBegun(graph: Graph, bin: string): Promise<number> {
  const done = await notedConstants(graph, bin);
  const { offset, size } = [...placesOf(graph).values()][done - 1] ?? { offset: 0, size: 0 };
  return offset + size;
}

/**
 * Writes the `.bin` file of a graph. It has another name until it is complete and on the disk, not just on its way there. Where
 * an earlier attempt at the same graph was interrupted, the constants that it noted as written are not made again.
 *
 * @param bin - the name when it is complete
 * @throws the signal's reason
 */
export async function writeConstants(graph: Graph, bin: string, control: WriteControl = {}): Promise<void> {
  const { signal, onBytes, noteBytes = NOTE_BYTES } = control;
  const done = await notedConstants(graph, bin);
  const handle = await open(partialOf(bin), done > 0 ? "r+" : "w");
  const notes = new Notes(handle, bin);
  // While one piece is written the next one is made.
  let writing = Promise.resolve();
  let noted = 0;
  let index = 0;
  try {
    for (const [{ name, data }, { offset, size }] of placesOf(graph)) {
      if (index++ < done) {
        noted = offset + size;
        onBytes?.(size);
        continue;
      }
      if (offset - noted >= noteBytes && data!.follows !== true) {
        await writing;
        if (notes.begin(index - 1)) noted = offset;
      }
      let position = offset;
      for await (const piece of data!.pieces()) {
        throwIfAborted(signal);
        await writing;
        onBytes?.(piece.length);
        writing = writeAll(handle, piece, position);
        writing.catch(() => undefined);
        position += piece.length;
      }
      if (position - offset !== size)
        throw new RangeError(`${name} made ${position - offset} bytes instead of ${size}`);
    }
    await writing;
    await notes.end();
    await handle.datasync();
  } catch (error) {
    await writing.catch(() => undefined);
    await notes.end().catch(() => undefined);
    if ((await bytesBegun(graph, bin)) === 0) await rm(partialOf(bin), { force: true });
    throw error;
  } finally {
    await handle.close();
  }
  await rename(partialOf(bin), bin);
  await rm(noteOf(bin), { force: true });
}

const partialOf = (bin: string): string => `${bin}.partial`;
const noteOf = (bin: string): string => `${bin}.written`;

/** Constants that are on the disk, counted from the first. */
async function notedConstants(graph: Graph, bin: string): Promise<number> {
  const count = Number(await readFile(noteOf(bin), "utf8").catch(() => "0"));
  const last = [...placesOf(graph).values()][count - 1];
  const partial = await stat(partialOf(bin)).catch(() => undefined);
  return last && partial && partial.size >= last.offset + last.size ? count : 0;
}

/** Notes how many constants are on the disk, while more of them are made. */
class Notes {
  readonly #handle: FileHandle;
  readonly #bin: string;
  #noting: Promise<void> | undefined;
  #failure: unknown;

  constructor(handle: FileHandle, bin: string) {
    this.#handle = handle;
    this.#bin = bin;
  }

  /**
   * To be called when the constants have been given to the system.
   *
   * @returns false while the disk is still at work on those before
   */
  begin(constants: number): boolean {
    if (this.#noting) return false;
    this.#noting = this.#note(constants)
      .catch((error: unknown) => void (this.#failure ??= error))
      .finally(() => (this.#noting = undefined));
    return true;
  }

  /** @throws what the disk told */
  async end(): Promise<void> {
    await this.#noting;
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- what the system threw
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #note(constants: number): Promise<void> {
    await this.#handle.datasync();
    const file = noteOf(this.#bin);
    await writeFile(`${file}.partial`, String(constants));
    await rename(`${file}.partial`, file);
  }
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, position + written);
    written += bytesWritten;
  }
}
