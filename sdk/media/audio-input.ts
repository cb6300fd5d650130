import { types } from "node:util";
import { OptionError } from "../core/errors.js";
import { showValue } from "../core/validate.js";
import { attached } from "./attached.js";
import type { ByteSource } from "./byte-reader.js";
import { fileSource, memorySource, streamSource } from "./byte-sources.js";
import { fetchSource } from "./media-fetch.js";
import { locateMedia, type LocationWords } from "./media-location.js";
import { memorySamples, streamSamples } from "./raw-samples.js";
import type { MonoAudio } from "./mono-audio.js";
import { chunksOf } from "./stream-reader.js";

const EXPECTED =
  "a path, a file:, data:, http: or https: URL, the bytes of an audio file (Buffer, Uint8Array, ArrayBuffer, Blob), mono samples " +
  "(Float32Array with sampleRate), or a stream or async iterable of bytes or samples";

/** An input that was understood, before its content is looked at. */
export type UnderstoodInput =
  | { kind: "encoded"; source: ByteSource; live: boolean }
  | { kind: "samples"; audio: MonoAudio; live: boolean; close(): Promise<void> };

const WORDS: LocationWords = {
  path: "audio",
  expected: "the path of an audio file, or a file:, data:, http: or https: URL",
  dataExample: "data:audio/wav;base64,…",
};

/** For the beginning of a server's answer. */
const LONGEST_WAIT_MS = 30_000;

/**
 * Understands everything that may be passed as audio.
 *
 * @throws OptionError for values of a wrong type, and for a sampling rate that is missing or out of place
 * @throws MediaError for files that cannot be opened, DownloadError for what cannot be fetched
 */
export async function understandInput(
  input: unknown,
  sampleRate: number | undefined,
  signal: AbortSignal | undefined,
): Promise<UnderstoodInput> {
  if (types.isFloat32Array(input)) {
    const audio = memorySamples(attached(input, "audio", EXPECTED), requireRate(sampleRate, "a Float32Array"));
    return { kind: "samples", audio, live: false, close: async () => {} };
  }
  if (typeof input === "string" || input instanceof URL) {
    refuseRate(sampleRate, "a file");
    const source = await locatedSource(input, signal);
    return { kind: "encoded", source, live: source.size === undefined };
  }
  const bytes = bytesOf(input);
  if (bytes) {
    refuseRate(sampleRate, "the bytes of an encoded file");
    return { kind: "encoded", source: memorySource(bytes, "the audio buffer"), live: false };
  }
  const chunks = audioChunks(input);
  if (!chunks) throw wrongType(input);
  if (sampleRate === undefined) {
    return { kind: "encoded", source: streamSource(chunks, "the audio stream", signal), live: true };
  }
  const { audio, close } = streamSamples(chunks, sampleRate, signal);
  return { kind: "samples", audio, live: true, close };
}

function bytesOf(input: unknown): Uint8Array | undefined {
  if (!types.isUint8Array(input) && !types.isAnyArrayBuffer(input)) return undefined;
  return attached<Uint8Array | ArrayBufferLike>(input, "audio", EXPECTED);
}

/** What a string or URL names: a file, a `data:` URL, a file on the web. */
async function locatedSource(input: string | URL, signal: AbortSignal | undefined): Promise<ByteSource> {
  const located = locateMedia(input, WORDS);
  if ("path" in located) return fileSource(located.path, signal);
  if ("bytes" in located) return memorySource(located.bytes, located.name);
  return fetchSource(located.url, { kind: "audio", timeoutMs: LONGEST_WAIT_MS, signal, path: WORDS.path });
}

/** Audio also comes in lists of chunks, but a list of numbers is none. */
function audioChunks(input: unknown): AsyncIterable<unknown> | Iterable<unknown> | undefined {
  const chunks = chunksOf(input);
  if (chunks || typeof input !== "object" || input === null || ArrayBuffer.isView(input)) return chunks;
  if (Array.isArray(input) && typeof input[0] === "number") return undefined;
  return Symbol.iterator in input ? (input as Iterable<unknown>) : undefined;
}

function requireRate(sampleRate: number | undefined, what: string): number {
  if (sampleRate !== undefined) return sampleRate;
  throw new OptionError(
    `sampleRate is missing: ${what} does not say how many samples make a second. Pass it, for example sampleRate: 16000.`,
    { path: "sampleRate", expected: "samples a second", received: undefined },
  );
}

function refuseRate(sampleRate: number | undefined, what: string): void {
  if (sampleRate === undefined) return;
  throw new OptionError(
    `sampleRate belongs to samples (Float32Array); ${what} says its own rate. Leave sampleRate out, ` +
      `or convert raw PCM to a Float32Array first. Received ${sampleRate}.`,
    { path: "sampleRate", expected: "undefined", received: sampleRate },
  );
}

function wrongType(input: unknown): OptionError {
  return new OptionError(`audio must be ${EXPECTED}; received ${showValue(input)}.${advice(input)}`, {
    path: "audio",
    expected: EXPECTED,
    received: input,
  });
}

function advice(input: unknown): string {
  if (Array.isArray(input) || types.isFloat64Array(input)) return " Convert it: Float32Array.from(audio).";
  if (types.isInt16Array(input)) return " Convert it: Float32Array.from(audio, (value) => value / 32768).";
  if (types.isInt32Array(input)) return " Convert it: Float32Array.from(audio, (value) => value / 2147483648).";
  if (ArrayBuffer.isView(input)) return " Convert the samples to a Float32Array with values from -1 to 1.";
  if (typeof input === "object" && input !== null) {
    if ("body" in input && "arrayBuffer" in input) return " Of a response pass its body.";
    if ("getChannelData" in input) return " Of an AudioBuffer pass getChannelData(0) and its sampleRate.";
    if ("then" in input) return " Await the promise first.";
  }
  return "";
}
