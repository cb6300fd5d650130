/** Bytes of one audio file that come piece by piece: from a file, from memory or from a stream. */
export interface ByteSource {
  /** What messages call it: the path, or a description. */
  readonly name: string;
  /** Length in bytes, where it is known. */
  readonly size: number | undefined;
  /** The next bytes, at least one; `undefined` at the end. They are valid until the next call. Not a Buffer. */
  next(): Promise<Uint8Array | undefined>;
  /** Goes on at this byte; only sources that can have it. */
  seek?(position: number): void;
  /** Lets go of the file or stream; may be called more than once. */
  close(): Promise<void>;
}

const NOTHING = new Uint8Array(0);

/** The same bytes as a plain Uint8Array: `slice` of a Buffer does not copy. */
export function plainBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Reads a {@link ByteSource} in portions of one's own choice. */
export class ByteReader {
  readonly source: ByteSource;
  #held: Uint8Array = NOTHING;
  #position = 0;
  #ended = false;

  constructor(source: ByteSource) {
    this.source = source;
  }

  /** Bytes read or skipped so far. */
  get position(): number {
    return this.#position;
  }

  /** The next bytes without reading them: `count`, or fewer at the end. Valid until the next call. */
  async peek(count: number): Promise<Uint8Array> {
    await this.#hold(count);
    return this.#held.subarray(0, count);
  }

  /** Reads `count` bytes, or fewer at the end. Valid until the next call. */
  async take(count: number): Promise<Uint8Array> {
    await this.#hold(count);
    return this.#release(count);
  }

  /**
   * Reads what is there without waiting for more: at least `unit` bytes, at most `most`, a multiple of `unit`. Fewer than
   * `unit` (perhaps none) at the end.
   */
  async takeAvailable(unit: number, most: number): Promise<Uint8Array> {
    await this.#hold(unit);
    const available = Math.min(this.#held.length, Math.max(unit, most));
    return this.#release(available < unit ? available : available - (available % unit));
  }

  /** Goes `count` bytes on, or to the end; without reading them where the source can seek. */
  async skip(count: number): Promise<void> {
    const target = this.#position + count;
    if (count <= this.#held.length) {
      this.#release(count);
      return;
    }
    if (this.source.seek) {
      const within = Math.min(target, this.source.size ?? target);
      this.source.seek(within);
      this.#held = NOTHING;
      this.#position = within;
      return;
    }
    while (this.#position < target) {
      if ((await this.takeAvailable(1, target - this.#position)).length === 0) return;
    }
  }

  #release(count: number): Uint8Array {
    const released = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(released.length);
    this.#position += released.length;
    return released;
  }

  async #hold(count: number): Promise<void> {
    if (this.#held.length >= count || this.#ended) return;
    const parts: Uint8Array[] = this.#held.length > 0 ? [this.#held.slice()] : [];
    let length = this.#held.length;
    while (length < count) {
      const part = await this.source.next();
      if (!part) {
        this.#ended = true;
        break;
      }
      length += part.length;
      // Sources may use their memory again.
      parts.push(length < count ? part.slice() : part);
    }
    this.#held = parts.length === 1 ? parts[0]! : join(parts, length);
  }
}

function join(parts: Uint8Array[], length: number): Uint8Array {
  const joined = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
