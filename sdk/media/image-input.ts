import type { ReadableStream } from "node:stream/web";
import { types } from "node:util";
import { OptionError } from "../core/errors.js";
import { showValue } from "../core/validate.js";
import { attached } from "./attached.js";
import { locateMedia, type LocationWords, type MediaLocation } from "./media-location.js";
import { type CheckedPixels, checkPixels, type RawPixels } from "./raw-pixels.js";
import type { RgbImage } from "./rgb-image.js";
import { chunksOf } from "./stream-reader.js";

/**
 * Everything that is taken as an image:
 *
 * - a path, or a `file:`, base64 `data:`, `http:` or `https:` URL of an image file (JPEG, PNG, WebP, GIF, TIFF, AVIF);
 * - the bytes of such a file: Buffer, Uint8Array, ArrayBuffer, Blob or File;
 * - a Node stream, web stream or async iterable of these bytes (not in chats, which keep their pictures);
 * - pixels: {@link RawPixels} (an `ImageData` is one) or an {@link RgbImage}.
 */
export type ImageInput =
  | string
  | URL
  | Uint8Array
  | ArrayBuffer
  | Blob
  | AsyncIterable<Uint8Array>
  | ReadableStream<Uint8Array>
  | RgbImage
  | RawPixels;

/** An input whose form was understood; nothing was read yet. */
export type UnderstoodImage =
  | { kind: "location"; location: MediaLocation }
  | { kind: "bytes"; bytes: Uint8Array }
  | { kind: "stream"; chunks: () => AsyncIterable<unknown> }
  | { kind: "pixels"; pixels: CheckedPixels };

const EXPECTED =
  "a path, a file:, data:, http: or https: URL, the bytes of an image file (Buffer, Uint8Array, ArrayBuffer, Blob, " +
  "or a stream of them), pixels ({ data, width, height, channels }) or an RgbImage";

/**
 * Understands the form of an image without looking at its content.
 *
 * @param path - name of the value in messages, for example `messages[0].content[1].image`
 * @throws OptionError for values that are no image, and for pixels whose length does not fit their size
 */
export function understandImage(input: unknown, path: string): UnderstoodImage {
  if (typeof input === "string" || input instanceof URL) {
    return { kind: "location", location: locateMedia(input, wordsFor(path)) };
  }
  if (types.isUint8Array(input) || types.isAnyArrayBuffer(input)) {
    return { kind: "bytes", bytes: attached<Uint8Array | ArrayBufferLike>(input, path, EXPECTED) };
  }
  if (typeof input === "object" && input !== null && "data" in input && ("width" in input || "height" in input)) {
    return { kind: "pixels", pixels: checkPixels(input as { [Key in keyof RawPixels]: unknown }, path) };
  }
  // What sharp makes is a stream, too, but in no format that this could know.
  if (isStream(input) && !("toBuffer" in input)) return { kind: "stream", chunks: () => chunksOf(input)! };
  throw new OptionError(`${path} must be ${EXPECTED}; received ${showValue(input)}.${advice(input)}`, {
    path,
    expected: EXPECTED,
    received: input,
  });
}

/** Looks without opening: a stream can be opened once. */
function isStream(input: unknown): input is object {
  if (typeof input !== "object" || input === null || ArrayBuffer.isView(input)) return false;
  return Symbol.asyncIterator in input || ("stream" in input && "arrayBuffer" in input);
}

function wordsFor(path: string): LocationWords {
  return {
    path,
    expected: "the path of an image file, or a file:, data:, http: or https: URL",
    dataExample: "data:image/png;base64,…",
  };
}

function advice(input: unknown): string {
  if (ArrayBuffer.isView(input)) return " Pixels come with their size: { data, width, height }.";
  if (Array.isArray(input)) return " Several images are several image parts.";
  if (typeof input !== "object" || input === null) return "";
  if ("arrayBuffer" in input) return " Of a response pass its body.";
  if ("then" in input) return " Await the promise first.";
  if ("toBuffer" in input) return " Of a sharp object pass await it.png().toBuffer().";
  if ("getContext" in input) return " Of a canvas pass getContext('2d').getImageData(0, 0, width, height).";
  if ("url" in input) return " Pass its url.";
  return "";
}
