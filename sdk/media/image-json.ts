import { types } from "node:util";
import { crc32, deflateSync } from "node:zlib";
import { OptionError } from "../core/errors.js";
import { IMAGE_HEAD_BYTES, recognizeImage } from "./image-format.js";
import { type ImageInput, understandImage } from "./image-input.js";
import { type CheckedPixels, levelsOf } from "./raw-pixels.js";
import { RgbImage } from "./rgb-image.js";

/**
 * An image as text that is an {@link ImageInput} again: paths and URLs as they are (files are not read), encoded bytes as a
 * `data:` URL, pixels as the `data:` URL of a PNG.
 *
 * @param path - name of the value in messages
 * @throws OptionError for what is no image
 */
export function imageToJSON(input: ImageInput, path = "image"): string {
  if (typeof input === "string") return input;
  if (input instanceof URL) return input.href;
  const understood = understandImage(input, path);
  if (understood.kind === "pixels") return dataUrl("image/png", encodePng(understood.pixels, path));
  if (understood.kind === "stream") throw unkept(input, path);
  const { bytes } = understood as { bytes: Uint8Array };
  const { format } = recognizeImage(bytes.subarray(0, IMAGE_HEAD_BYTES));
  return dataUrl(format ? `image/${format}` : "application/octet-stream", bytes);
}

/**
 * The same image in memory of its own, so that the caller may go on using theirs. What a path or URL names is not read.
 *
 * @param path - name of the value in messages
 * @throws OptionError for what is no image
 */
export function snapshotImage(input: ImageInput, path = "image"): ImageInput {
  const understood = understandImage(input, path);
  if (understood.kind === "bytes") return new Uint8Array(understood.bytes);
  if (understood.kind === "stream") throw unkept(input, path);
  if (understood.kind === "location") return input instanceof URL ? input.href : input;
  const { data, width, height, channels } = understood.pixels;
  if (input instanceof RgbImage) return new RgbImage(width, height, new Uint8Array(data));
  // Not data.slice(), which of a Buffer is no copy.
  const copy = new (data.constructor === Buffer ? Uint8Array : (data.constructor as typeof Uint8Array))(data);
  return { data: copy, width, height, channels };
}

/** A chat keeps its pictures from the moment they are sent; what must be waited for is not there then. */
function unkept(received: ImageInput, path: string): OptionError {
  const expected = "a path, a URL, bytes or pixels";
  return new OptionError(
    `${path} must be ${expected} in a chat, which keeps its pictures: a Blob or stream is read first, ` +
      "for example with await blob.arrayBuffer(), or buffer(stream) of node:stream/consumers.",
    { path, expected, received },
  );
}

function dataUrl(type: string, bytes: Uint8Array): string {
  return `data:${type};base64,${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64")}`;
}

const PNG_SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
const COLOR_TYPES = { 1: 0, 3: 2, 4: 6 };

/** A PNG without waiting: `toJSON` cannot wait. Each row holds differences to the one above. */
function encodePng(pixels: CheckedPixels, path: string): Buffer {
  const { width, height, channels } = pixels;
  const bytes = types.isFloat32Array(pixels.data) ? levelsOf(pixels.data, path) : pixels.data;
  const stride = width * channels;
  const rows = Buffer.alloc((stride + 1) * height);
  for (let y = 0, to = 0, from = 0; y < height; y++) {
    rows[to++] = y === 0 ? 0 : 2;
    for (let x = 0; x < stride; x++, to++, from++) rows[to] = bytes[from]! - (y === 0 ? 0 : bytes[from - stride]!);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8;
  header[9] = COLOR_TYPES[channels];
  return Buffer.concat([
    PNG_SIGNATURE,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows, { level: 3 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}
