import { abortReason, throwIfAborted } from "../core/abort.js";
import type { ImageFeatures, ImageLayout } from "./families/family.js";

/** What the encoder made of a picture, and how it stands in a prompt. */
export interface Features extends ImageFeatures {
  readonly layout: ImageLayout;
}

interface Making {
  promise: Promise<Features>;
  /** Calls that wait for it. */
  users: number;
  abort: AbortController;
}

/**
 * Features of pictures by key: those used last, up to a number of bytes. Features that are being made are shared by all who ask for
 * them; making them ends when nobody waits any more.
 */
export class FeatureCache {
  readonly #capacity: number;
  /** In order of use, the last one last. */
  readonly #kept = new Map<string, Features>();
  readonly #making = new Map<string, Making>();
  #bytes = 0;

  /** @param capacity - bytes of rows to keep */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Bytes of rows kept. */
  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): Features | undefined {
    const features = this.#kept.get(key);
    if (features) {
      this.#kept.delete(key);
      this.#kept.set(key, features);
    }
    return features;
  }

  /**
   * Features that are there, or are made now.
   *
   * @param make - ends with its signal
   * @throws what `make` throws, or the signal's reason; then only when `make` has ended, if nobody else waits for it
   */
  async make(key: string, signal: AbortSignal, make: (ends: AbortSignal) => Promise<Features>): Promise<Features> {
    throwIfAborted(signal);
    const kept = this.get(key);
    if (kept) return kept;
    let making = this.#making.get(key);
    if (!making || making.abort.signal.aborted) {
      const abort = new AbortController();
      const started: Making = { abort, users: 0, promise: make(abort.signal) };
      started.promise = started.promise.then(
        (features) => {
          this.#forget(key, started);
          this.#keep(key, features);
          return features;
        },
        (error: unknown) => {
          this.#forget(key, started);
          throw error;
        },
      );
      this.#making.set(key, (making = started));
    }
    return this.#wait(making, signal);
  }

  async #wait(making: Making, signal: AbortSignal): Promise<Features> {
    making.users++;
    let leave!: () => void;
    const left = new Promise<undefined>((resolve) => (leave = () => resolve(undefined)));
    signal.addEventListener("abort", leave, { once: true });
    try {
      const features = await Promise.race([making.promise, left]);
      if (features) return features;
      if (making.users > 1) throw abortReason(signal);
      making.abort.abort();
      await making.promise.catch(() => undefined);
      throw abortReason(signal);
    } finally {
      making.users--;
      signal.removeEventListener("abort", leave);
    }
  }

  #forget(key: string, making: Making): void {
    if (this.#making.get(key) === making) this.#making.delete(key);
  }

  #keep(key: string, features: Features): void {
    const { byteLength } = features.rows;
    if (byteLength > this.#capacity || this.#kept.has(key)) return;
    this.#kept.set(key, features);
    this.#bytes += byteLength;
    for (const [oldest, { rows }] of this.#kept) {
      if (this.#bytes <= this.#capacity) return;
      this.#kept.delete(oldest);
      this.#bytes -= rows.byteLength;
    }
  }
}
