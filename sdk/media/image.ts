import { createHash, type Hash } from "node:crypto";
import { z } from "zod";
import { throwIfAborted, unlessAborted } from "../core/abort.js";
import { MediaError } from "../core/errors.js";
import { signal, wholeNumber } from "../core/option-schemas.js";
import { parseOptions } from "../core/validate.js";
import type { ByteSource } from "./byte-reader.js";
import { fileSource, streamSource } from "./byte-sources.js";
import { decodeImage } from "./image-decode.js";
import { type ImageInput, type UnderstoodImage, understandImage } from "./image-input.js";
import { fetchBytes, showUrl } from "./media-fetch.js";
import { Pace } from "./pace.js";
import { type AlphaMode, type CheckedPixels, convertPixels } from "./raw-pixels.js";
import { RgbImage } from "./rgb-image.js";

export type { ImageInput } from "./image-input.js";

/** How to read an {@link ImageInput}. */
export interface ReadImageOptions {
  /**
   * What becomes of transparency: `flatten` lays the picture over white; `drop` leaves the colours that are stored under it,
   * as Pillow's `convert("RGB")` does. Defaults to `flatten`.
   */
  alpha?: AlphaMode | undefined;
  /** Ends reading with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Largest encoded file. Defaults to 64 MiB for what is fetched, and to 512 MiB for files and bytes. */
  maxBytes?: number | undefined;
  /** Longest time for fetching a URL, to the last byte, in milliseconds. Defaults to 30000. */
  timeoutMs?: number | undefined;
  /** Most pixels (width × height). Defaults to 268402689, which is 16383 × 16383; decoded they take 3 bytes each. */
  maxPixels?: number | undefined;
  /** Name of the value in messages, for example `messages[0].content[1].image`. Defaults to `image`. */
  path?: string | undefined;
}

/** An image whose content is known, but not decoded yet. */
export interface IdentifiedImage {
  /** 64 hexadecimal digits: equal for equal content (and `alpha`), whatever name it has. */
  readonly key: string;
  /**
   * Decodes it; each call anew.
   *
   * @param signal - ends this call with its reason; the signal of the identification has no part in it
   */
  read(signal?: AbortSignal): Promise<RgbImage>;
}

const MEBIBYTE = 1024 * 1024;
const MOST_BYTES_FETCHED = 64 * MEBIBYTE;
const MOST_BYTES = 512 * MEBIBYTE;
const LONGEST_FETCH_MS = 30_000;
const MOST_PIXELS = 0x3fff * 0x3fff;
/** Bytes hashed, and pixels converted, between two looks at the clock. */
const BLOCK = 256 * 1024;

const optionsSchema = z.strictObject({
  alpha: z.enum(["flatten", "drop"]).default("flatten"),
  signal: signal.optional(),
  maxBytes: wholeNumber(1, undefined, " (bytes)").optional(),
  timeoutMs: wholeNumber(1, 2 ** 31 - 1, " (milliseconds)").default(LONGEST_FETCH_MS),
  maxPixels: wholeNumber(1, undefined, " (width × height)").default(MOST_PIXELS),
  path: z.string().default("image"),
});

type Settings = z.output<typeof optionsSchema>;

/**
 * Reads an image's file once and tells its content by a key, without decoding it. Bytes and pixels of the caller are copied.
 *
 * @throws OptionError for what cannot be an image, and for pixels whose length does not fit their size
 * @throws MediaError for a file that cannot be read or is too large
 * @throws DownloadError for a URL that cannot be fetched
 */
export async function identifyImage(input: ImageInput, options: ReadImageOptions = {}): Promise<IdentifiedImage> {
  const settings = parseOptions(optionsSchema, options);
  throwIfAborted(settings.signal);
  const understood = understandImage(input, settings.path);
  if (understood.kind === "pixels") {
    const image = await convert(understood.pixels, settings);
    const hash = createHash("sha256").update(`pixels ${image.width} ${image.height} `);
    return { key: await digest(hash, image.data, settings), read: async () => image };
  }
  const { bytes, name } = await encodedBytes(understood, settings);
  const key = await digest(createHash("sha256").update(`${settings.alpha} `), bytes, settings);
  return { key, read: (abort) => decode(bytes, name, settings, abort) };
}

/**
 * Reads an image: upright, its first frame, as 8-bit RGB.
 *
 * @throws OptionError for what cannot be an image, and for pixels whose length does not fit their size
 * @throws MediaError for what cannot be read, is no image, is damaged, or is too large; it names the source and the remedy
 * @throws DownloadError for a URL that cannot be fetched
 */
export async function readImage(input: ImageInput, options: ReadImageOptions = {}): Promise<RgbImage> {
  const settings = parseOptions(optionsSchema, options);
  throwIfAborted(settings.signal);
  const understood = understandImage(input, settings.path);
  if (understood.kind === "pixels") return convert(understood.pixels, settings);
  const { bytes, name } = await encodedBytes(understood, settings);
  return decode(bytes, name, settings, settings.signal);
}

async function encodedBytes(
  understood: Exclude<UnderstoodImage, { kind: "pixels" }>,
  settings: Settings,
): Promise<{ bytes: Uint8Array; name: string }> {
  const { maxBytes = MOST_BYTES, path } = settings;
  if (understood.kind === "bytes") {
    const name = path === "image" ? "the image buffer" : path;
    checkLength(understood.bytes.length, name, maxBytes);
    return { bytes: new Uint8Array(understood.bytes), name };
  }
  const { signal: abort } = settings;
  if (understood.kind === "stream") {
    const name = path === "image" ? "the image stream" : path;
    return { bytes: await readAll(streamSource(understood.chunks(), name, abort, path), maxBytes, abort), name };
  }
  const { location } = understood;
  if ("path" in location) {
    const source = await fileSource(location.path, abort, "image");
    return { bytes: await readAll(source, maxBytes, abort), name: location.path };
  }
  if ("url" in location) {
    const limits = {
      ...{ kind: "image" as const, maxBytes: settings.maxBytes ?? MOST_BYTES_FETCHED },
      ...{ timeoutMs: settings.timeoutMs, signal: abort, path },
    };
    return { bytes: await fetchBytes(location.url, limits), name: showUrl(location.url) };
  }
  const name = path === "image" ? location.name : `${location.name} of ${path}`;
  checkLength(location.bytes.length, name, maxBytes);
  return { bytes: location.bytes, name };
}

async function readAll(source: ByteSource, maxBytes: number, abort: AbortSignal | undefined): Promise<Uint8Array> {
  const { name } = source;
  try {
    checkLength(source.size ?? 0, name, maxBytes);
    let bytes = new Uint8Array(source.size ?? BLOCK);
    let length = 0;
    for (;;) {
      throwIfAborted(abort);
      const piece = await source.next();
      if (piece === undefined) return bytes.subarray(0, length);
      checkLength(length + piece.length, name, maxBytes);
      if (length + piece.length > bytes.length) {
        const larger = new Uint8Array(2 * (length + piece.length));
        larger.set(bytes);
        bytes = larger;
      }
      bytes.set(piece, length);
      length += piece.length;
    }
  } finally {
    await source.close();
  }
}

function checkLength(length: number, name: string, maxBytes: number): void {
  if (length <= maxBytes) return;
  throw new MediaError(`Cannot read an image from ${name}: it is larger than ${maxBytes} bytes. Pass a smaller image.`);
}

async function decode(
  bytes: Uint8Array,
  name: string,
  { alpha, maxPixels }: Settings,
  abort: AbortSignal | undefined,
): Promise<RgbImage> {
  throwIfAborted(abort);
  return unlessAborted(decodeImage(bytes, name, { alpha, maxPixels, signal: abort }), abort);
}

async function convert(given: CheckedPixels, settings: Settings): Promise<RgbImage> {
  // The caller may change its pixels as soon as this waits for the first time.
  const pixels: CheckedPixels = { ...given, data: given.data.slice() };
  const { width, height } = pixels;
  const rgb = new Uint8Array(width * height * 3);
  const pace = new Pace(settings.signal);
  for (let from = 0; from < width * height; from += BLOCK) {
    await pace.turn();
    convertPixels(pixels, settings.alpha, settings.path, rgb, from, Math.min(width * height, from + BLOCK));
  }
  return new RgbImage(width, height, rgb);
}

async function digest(hash: Hash, bytes: Uint8Array, settings: Settings): Promise<string> {
  const pace = new Pace(settings.signal);
  for (let from = 0; from < bytes.length; from += BLOCK) {
    await pace.turn();
    hash.update(bytes.subarray(from, from + BLOCK));
  }
  return hash.digest("hex");
}
