import { abortReason, throwIfAborted } from "./abort.js";

/**
 * Why work ends before its natural end, weakest first:
 * `stop` keeps what came, `cancel` forgets the turn, `abort` rejects (signal or dispose).
 */
export type EndKind = "stop" | "cancel" | "abort";

const STRENGTH: Record<EndKind, number> = { stop: 1, cancel: 2, abort: 3 };

/** What a stream hands to the work behind it. */
export interface StreamControl<Chunk> {
  /** Delivers a chunk to the reader; never blocks, never drops while the stream is open. */
  push(chunk: Chunk): void;
  /** Chunks that no reader has taken yet. */
  readonly unread: number;
  /** The strongest end asked for so far. */
  readonly ending: EndKind | undefined;
  /** Calls back when an end is asked for (at once if it already was); again if a stronger one follows. */
  onEnding(listener: (kind: EndKind) => void): void;
}

/** How a stream is tied to its surroundings. */
export interface StreamOptions<Result> {
  signal?: AbortSignal | undefined;
  /** Called once the outcome is certain, just before `result` resolves; `ending` tells whether the answer is to be kept. */
  onResult?: (result: Result, ending: EndKind | undefined) => void;
  /** Called just before `result` settles, whatever the outcome. */
  onSettled?: () => void;
}

interface Reader<Chunk> {
  resolve(result: IteratorResult<Chunk, undefined>): void;
  reject(error: unknown): void;
}

/**
 * The one stream class of the SDK: chunks as they come, and the finished result.
 *
 * - The work starts when the stream is created, whether or not anybody reads; `result` works without iterating.
 * - Chunks wait for a slow or late reader, in order. A stream can be iterated once.
 * - `break` (also `return` or a throw inside the loop) means `stop()`.
 * - `stop()` ends the work and keeps what came: `result` resolves with the partial answer, `finishReason: "stop"`.
 * - `cancel()` ends the work and forgets it: unread chunks are dropped, `result` resolves with what had come,
 *   `finishReason: "cancelled"`, and a chat is as if the turn had never been asked.
 * - An aborted `signal` rejects `result` and the iterator with `signal.reason`.
 * - All of them settle only when native work has ended. After the end they do nothing.
 */
export class PipelineStream<Chunk, Result> implements AsyncIterable<Chunk>, AsyncDisposable {
  /**
   * The finished result. Never an unhandled rejection: an error nobody looks at here is also delivered to the reader.
   */
  readonly result: Promise<Result>;
  readonly #ended: Promise<void>;
  readonly #unread: Chunk[] = [];
  readonly #readers: Reader<Chunk>[] = [];
  readonly #listeners: ((kind: EndKind) => void)[] = [];
  #ending: EndKind | undefined;
  #abortReason: unknown;
  /** The outcome is certain; ends asked for come too late. */
  #sealed = false;
  /** Readers know the outcome. */
  #closed = false;
  #failure: { error: unknown } | undefined;
  #iterated = false;

  private constructor(work: (control: StreamControl<Chunk>) => Promise<Result>, options: StreamOptions<Result>) {
    this.result = this.#run(work, options);
    this.#ended = this.result.then(
      () => this.#close(),
      (error: unknown) => {
        this.#failure = { error };
        this.#close();
      },
    );
  }

  /**
   * @internal
   * @param work - does the work; settles only when native work has ended. Not called if the signal is already aborted.
   */
  static start<Chunk, Result>(
    work: (control: StreamControl<Chunk>) => Promise<Result>,
    options: StreamOptions<Result> = {},
  ): PipelineStream<Chunk, Result> {
    return new PipelineStream<Chunk, Result>(work, options);
  }

  /** Ends now and keeps what came. Resolves when native work has ended. */
  async stop(): Promise<void> {
    this.#end("stop");
    await this.#ended;
  }

  /** Ends now and forgets the turn. Resolves when native work has ended. */
  async cancel(): Promise<void> {
    this.#end("cancel");
    await this.#ended;
  }

  /** Same as {@link stop}; for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Reads the chunks; possible once.
   *
   * @throws TypeError at the second call
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<Chunk, undefined> {
    if (this.#iterated) {
      throw new TypeError(
        "This stream is being read already; a stream can be iterated once. Await `result` for the whole answer.",
      );
    }
    this.#iterated = true;
    const iterator: AsyncIterableIterator<Chunk, undefined> = {
      next: () => this.#next(),
      return: async () => {
        this.#unread.length = 0;
        await this.stop();
        this.#unread.length = 0;
        this.#failure = undefined;
        return { done: true, value: undefined };
      },
      throw: async (error: unknown) => {
        await iterator.return!();
        throw error;
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  /** @internal Ends the work with an error of the owner's (dispose). */
  abort(reason: unknown): void {
    this.#abortReason ??= reason;
    this.#end("abort");
  }

  /** @internal Settles (never rejects) when native work has ended. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  async #run(
    work: (control: StreamControl<Chunk>) => Promise<Result>,
    { signal, onResult, onSettled }: StreamOptions<Result>,
  ): Promise<Result> {
    const onAbort = (): void => this.abort(signal && abortReason(signal));
    try {
      throwIfAborted(signal);
      signal?.addEventListener("abort", onAbort, { once: true });
      const result = await work(this.#control());
      if (this.#ending === "abort") throw this.#abortReason;
      onResult?.(result, this.#ending);
      return result;
    } catch (error) {
      throw this.#ending === "abort" ? this.#abortReason : error;
    } finally {
      // Nothing that comes later may change the outcome.
      this.#sealed = true;
      this.#listeners.length = 0;
      signal?.removeEventListener("abort", onAbort);
      onSettled?.();
    }
  }

  #control(): StreamControl<Chunk> {
    const ending = (): EndKind | undefined => this.#ending;
    const unread = (): number => this.#unread.length;
    return {
      push: (chunk) => this.#push(chunk),
      get unread() {
        return unread();
      },
      get ending() {
        return ending();
      },
      onEnding: (listener) => {
        this.#listeners.push(listener);
        if (this.#ending) listener(this.#ending);
      },
    };
  }

  #end(kind: EndKind): void {
    if (this.#sealed || (this.#ending && STRENGTH[this.#ending] >= STRENGTH[kind])) return;
    this.#ending = kind;
    if (kind !== "stop") this.#unread.length = 0;
    for (const listener of [...this.#listeners]) listener(kind);
  }

  #push(chunk: Chunk): void {
    if (this.#sealed || (this.#ending && this.#ending !== "stop")) return;
    const reader = this.#readers.shift();
    if (reader) reader.resolve({ done: false, value: chunk });
    else this.#unread.push(chunk);
  }

  async #next(): Promise<IteratorResult<Chunk, undefined>> {
    if (this.#unread.length > 0) return { done: false, value: this.#unread.shift()! };
    if (!this.#closed) return new Promise((resolve, reject) => this.#readers.push({ resolve, reject }));
    if (this.#failure) {
      const { error } = this.#failure;
      this.#failure = undefined;
      throw error;
    }
    return { done: true, value: undefined };
  }

  #close(): void {
    this.#closed = true;
    const readers = this.#readers.splice(0);
    const first = this.#failure && readers.shift();
    if (first && this.#failure) {
      first.reject(this.#failure.error);
      this.#failure = undefined;
    }
    for (const reader of readers) reader.resolve({ done: true, value: undefined });
  }
}
