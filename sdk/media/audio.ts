import type { ReadableStream } from "node:stream/web";
import { z } from "zod";
import { abortReason, throwIfAborted } from "../core/abort.js";
import { MediaError } from "../core/errors.js";
import { signal, wholeNumber } from "../core/option-schemas.js";
import { parseOptions } from "../core/validate.js";
import { type UnderstoodInput, understandInput } from "./audio-input.js";
import { audioPieces, type AudioRange } from "./audio-pieces.js";
import { openEncoded } from "./encoded-audio.js";
import { HIGHEST_RATE, LOWEST_RATE, type MonoAudio } from "./mono-audio.js";
import { Pace } from "./pace.js";

export type { AudioRange } from "./audio-pieces.js";

/**
 * Everything that is taken as audio:
 *
 * - a path, or a `file:`, base64 `data:`, `http:` or `https:` URL of an audio file (WAV, MP3, FLAC, Ogg Vorbis, Ogg Opus);
 * - the bytes of such a file: Buffer, Uint8Array, ArrayBuffer, Blob or File;
 * - mono samples, usually from -1 to 1: Float32Array together with `sampleRate`;
 * - a Node stream, web stream or async iterable of the bytes of a file, or (with `sampleRate`) of samples.
 *
 * What is in memory is read as the work goes on: do not change it before it has ended.
 */
export type AudioInput =
  | string
  | URL
  | Uint8Array
  | ArrayBuffer
  | Float32Array
  | Blob
  | AsyncIterable<Uint8Array | Float32Array>
  | ReadableStream<Uint8Array>
  | ReadableStream<Float32Array>;

/** How to read an {@link AudioInput}. */
export interface AudioOptions {
  /** Samples a second, from 1000 to 384000; for samples only, and needed there. */
  sampleRate?: number | undefined;
  /** Ends reading with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Only this part is delivered, in seconds. */
  range?: AudioRange | undefined;
}

/** Audio that is ready to be read: mono samples at 16 kHz, in pieces of at most 10 s, one after the other. */
export interface AudioSource extends AsyncIterable<Float32Array>, AsyncDisposable {
  /** What messages call it: the path, or "the audio buffer". */
  readonly name: string;
  /** Seconds that will be delivered, where that is known before the end: files in WAV, and samples in memory. */
  readonly duration: number | undefined;
  /** Pieces in order; can be read once. Closes the source at the end, after an error, and when the loop is left. */
  [Symbol.asyncIterator](): AsyncGenerator<Float32Array, void, undefined>;
  /** Closes the source; only needed if it is not read. */
  close(): Promise<void>;
}

const RATE_HINT = " (samples a second)";

const optionsSchema = z.strictObject({
  sampleRate: wholeNumber(LOWEST_RATE, HIGHEST_RATE, RATE_HINT).optional(),
  signal: signal.optional(),
  range: z
    .strictObject({
      start: z.number().min(0).describe("a number of seconds from 0"),
      end: z.number().min(0).optional().describe("a number of seconds after start"),
    })
    .refine(({ start, end }) => end === undefined || end > start, {
      path: ["end"],
      error: "a number of seconds after start",
    })
    .optional(),
});

/**
 * Opens audio and brings it to 16 kHz mono: the mean of all channels (inverse ones are turned), resampled. Works piece by piece, so memory does not
 * depend on the length, and the event loop is not blocked for more than a few milliseconds.
 *
 * A header without samples delivers nothing. Floating-point samples beyond [-1, 1] are kept as they are.
 *
 * @throws OptionError for a wrong argument
 * @throws DownloadError for a URL that cannot be fetched, here or while reading
 * @throws MediaError for content that cannot be read, here or while reading; it names the file, its format and the remedy
 */
export async function openAudio(input: unknown, options: AudioOptions = {}): Promise<AudioSource> {
  const { sampleRate, signal: abort, range = { start: 0 } } = parseOptions(optionsSchema, options);
  throwIfAborted(abort);
  const understood = await understandInput(input, sampleRate, abort);
  try {
    // The head of a live stream may be long in coming; it is waited for when the first piece is.
    const audio = understood.kind === "samples" ? understood.audio : undefined;
    const opened = audio ?? (understood.live ? undefined : await openEncoded((understood as Encoded).source));
    throwIfAborted(abort);
    return new OpenedAudio(understood, opened, range, abort);
  } catch (error) {
    await closeInput(understood);
    throw error;
  }
}

type Encoded = Extract<UnderstoodInput, { kind: "encoded" }>;

class OpenedAudio implements AudioSource {
  readonly name: string;
  readonly duration: number | undefined;
  readonly #input: UnderstoodInput;
  readonly #audio: MonoAudio | undefined;
  readonly #range: AudioRange;
  readonly #signal: AbortSignal | undefined;
  #used = false;

  constructor(
    input: UnderstoodInput,
    audio: MonoAudio | undefined,
    range: AudioRange,
    signal: AbortSignal | undefined,
  ) {
    this.#input = input;
    this.#audio = audio;
    this.#range = range;
    this.#signal = signal;
    this.name = input.kind === "encoded" ? input.source.name : input.audio.name;
    if (audio?.frames !== undefined) {
      const all = audio.frames / audio.sampleRate;
      this.duration = Math.max(0, Math.min(all, range.end ?? Infinity) - range.start);
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator<Float32Array, void, undefined> {
    if (this.#used) {
      throw new MediaError(
        `The audio of ${this.name} has been read or closed already. Open it again to read it again.`,
      );
    }
    this.#used = true;
    return this.#read();
  }

  async close(): Promise<void> {
    this.#used = true;
    await closeInput(this.#input);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async *#read(): AsyncGenerator<Float32Array, void, undefined> {
    try {
      const audio = this.#audio ?? (await openEncoded((this.#input as Encoded).source));
      yield* audioPieces(audio, this.#range, this.#input.live, new Pace(this.#signal));
    } catch (error) {
      // Closing a source because of the signal can bring errors of its own.
      throw this.#signal?.aborted ? abortReason(this.#signal) : error;
    } finally {
      await closeInput(this.#input);
    }
  }
}

async function closeInput(input: UnderstoodInput): Promise<void> {
  await (input.kind === "encoded" ? input.source.close() : input.close());
}
