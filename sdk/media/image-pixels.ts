import { getNative } from "../core/native.js";
import { captureCallSite } from "../core/call-site.js";
import { fromNative, OptionError } from "../core/errors.js";
import { checkSide } from "./raw-pixels.js";
import { RgbImage } from "./rgb-image.js";

/** Kernels of {@link resizeImage}: 2, 4 and 6 pixels wide, wider when shrinking. */
export type ResizeFilter = "bilinear" | "bicubic" | "lanczos";

/** Largest image that is made: as many pixels as are read. */
const MOST_PIXELS = 0x3fff * 0x3fff;

/**
 * Resizes with antialiasing, equal to Pillow's `Image.resize` bit by bit (Pillow before 13), in threads of the native core.
 * The aspect ratio is the caller's business.
 *
 * @throws OptionError for a size that is not at least 1 × 1, or beyond 268 million pixels
 * @throws NativeError if the native core cannot be loaded
 */
export async function resizeImage(
  image: RgbImage,
  width: number,
  height: number,
  filter: ResizeFilter,
): Promise<RgbImage> {
  const callSite = captureCallSite();
  checkArea(width, height);
  if (width === image.width && height === image.height) return image;
  try {
    const size = { width: image.width, height: image.height };
    return new RgbImage(
      width,
      height,
      await getNative().resizeImage(image.data, size, { width, height }, filter).promise,
    );
  } catch (error) {
    throw fromNative(error, callSite);
  }
}

/**
 * A part of an image; what lies outside of it is black, as Pillow's `Image.crop` has it.
 *
 * @param left - may be negative, like `top`
 */
export function cropImage(image: RgbImage, left: number, top: number, width: number, height: number): RgbImage {
  checkArea(width, height);
  return place(image, width, height, -left, -top, [0, 0, 0]);
}

/**
 * An image on a larger canvas.
 *
 * @param width - of the canvas
 * @param left - column of the canvas at which the image begins
 * @param color - R, G, B from 0 to 255 of everything around
 */
export function padImage(
  image: RgbImage,
  width: number,
  height: number,
  left: number,
  top: number,
  color: readonly [number, number, number],
): RgbImage {
  checkArea(width, height);
  return place(image, width, height, left, top, color);
}

/**
 * Values for a vision encoder: `(level * rescale - mean) / std` for each channel.
 *
 * @param mean - of R, G, B, in the scale that `rescale` makes (0 to 1)
 * @param rescale - defaults to 1 / 255
 * @returns `[3, height, width]`: all of R, then G, then B
 */
export function normalizeImage(
  image: RgbImage,
  mean: readonly number[],
  std: readonly number[],
  rescale = 1 / 255,
): Float32Array {
  const { data } = image;
  const count = image.width * image.height;
  const values = new Float32Array(count * 3);
  const table = new Float32Array(256);
  for (let channel = 0; channel < 3; channel++) {
    for (let level = 0; level < 256; level++) {
      table[level] = (level * rescale - (mean[channel] ?? 0)) / (std[channel] ?? 1);
    }
    const plane = values.subarray(channel * count, (channel + 1) * count);
    for (let i = 0, from = channel; i < count; i++, from += 3) plane[i] = table[data[from]!]!;
  }
  return values;
}

/** Copies an image into a canvas, as far as they overlap. */
function place(
  image: RgbImage,
  width: number,
  height: number,
  left: number,
  top: number,
  color: readonly [number, number, number],
): RgbImage {
  const data = new Uint8Array(width * height * 3);
  if (color[0] === color[1] && color[1] === color[2]) {
    if (color[0] !== 0) data.fill(color[0]);
  } else {
    const row = new Uint8Array(width * 3);
    for (let i = 0; i < row.length; i++) row[i] = color[i % 3]!;
    for (let y = 0; y < height; y++) data.set(row, y * row.length);
  }
  const first = Math.max(0, left);
  const last = Math.min(width, left + image.width);
  if (last > first) {
    for (let y = Math.max(0, top); y < Math.min(height, top + image.height); y++) {
      const from = ((y - top) * image.width + first - left) * 3;
      data.set(image.data.subarray(from, from + (last - first) * 3), (y * width + first) * 3);
    }
  }
  return new RgbImage(width, height, data);
}

function checkArea(width: number, height: number): void {
  checkSide(width, "width");
  checkSide(height, "height");
  if (width * height <= MOST_PIXELS) return;
  throw new OptionError(`width × height must be at most ${MOST_PIXELS} pixels, received ${width} × ${height}.`, {
    path: "width",
    expected: `width × height of at most ${MOST_PIXELS} pixels`,
    received: width,
  });
}
