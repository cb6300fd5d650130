import { open, type FileHandle } from "node:fs/promises";
import { ModelError } from "../../../core/errors.js";

/** A file of weights, open for reading at any place. Every message names it. */
export class SourceFile {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  readonly #handle: FileHandle;

  private constructor(path: string, size: number, handle: FileHandle) {
    this.path = path;
    this.size = size;
    this.#handle = handle;
  }

  /** @throws ModelError */
  static async open(path: string): Promise<SourceFile> {
    const handle = await open(path, "r").catch((cause: unknown) => {
      throw new ModelError(`${path} cannot be opened: ${(cause as Error).message}.`, { file: path, cause });
    });
    const status = await handle.stat();
    if (!status.isFile()) {
      await handle.close();
      throw new ModelError(`${path} is not a file.`, { file: path });
    }
    return new SourceFile(path, status.size, handle);
  }

  /** Reads into a buffer of its own, whose start suits typed arrays. @throws ModelError where the file ends too early */
  async read(position: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await this.#handle
        .read(bytes, filled, length - filled, position + filled)
        .catch((cause: unknown) => {
          throw new ModelError(`${this.path} cannot be read: ${(cause as Error).message}.`, { file: this.path, cause });
        });
      if (bytesRead === 0) this.fail("the file ends too early; it is truncated, fetch it again");
      filled += bytesRead;
    }
    return bytes;
  }

  fail(problem: string): never {
    throw new ModelError(`${this.path}: ${problem}.`, { file: this.path });
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}
