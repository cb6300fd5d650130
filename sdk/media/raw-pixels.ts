import { types } from "node:util";
import { OptionError } from "../core/errors.js";
import { showValue } from "../core/validate.js";

/** What becomes of transparency: `flatten` lays the picture over white, `drop` leaves the colours that are stored under it. */
export type AlphaMode = "flatten" | "drop";

/** Pixels in memory: rows from the top, pixels from the left, channels interleaved (grey; R, G, B; or R, G, B, A). */
export interface RawPixels {
  /** `width * height * channels` values: bytes from 0 to 255, or floating-point numbers from 0 to 1. */
  data: Uint8Array | Uint8ClampedArray | Float32Array;
  width: number;
  height: number;
  /** Defaults to what the length of `data` says: so an `ImageData` of a canvas fits as it is. */
  channels?: 1 | 3 | 4 | undefined;
}

/** Pixels whose form was checked. */
export type CheckedPixels = RawPixels & { channels: 1 | 3 | 4 };

const EXPECTED_DATA = "a Uint8Array or Uint8ClampedArray (0 to 255) or a Float32Array (0 to 1)";

/**
 * Checks type, size and length of raw pixels; the number of channels may be left to the length.
 *
 * @param path - name of the value in messages
 * @throws OptionError
 */
export function checkPixels(pixels: { [Key in keyof RawPixels]: unknown }, path: string): CheckedPixels {
  const { data, width, height, channels } = pixels;
  if (!types.isUint8Array(data) && !types.isUint8ClampedArray(data) && !types.isFloat32Array(data)) {
    throw invalid(`${path}.data`, EXPECTED_DATA, data, adviceFor(data));
  }
  checkSide(width, `${path}.width`);
  checkSide(height, `${path}.height`);
  if (channels !== undefined && !isChannels(channels)) {
    throw invalid(`${path}.channels`, "1 (grey), 3 (RGB) or 4 (RGBA)", channels, "");
  }
  const known = channels ?? data.length / (width * height);
  if (!isChannels(known) || data.length !== width * height * known) {
    throw wrongLength(path, data.length, width, height, channels);
  }
  return { data, width, height, channels: known };
}

/** Raw pixels as RGB bytes, in memory of their own. */
export function rgbOf(pixels: CheckedPixels, alpha: AlphaMode, path: string): Uint8Array {
  const count = pixels.width * pixels.height;
  const rgb = new Uint8Array(count * 3);
  convertPixels(pixels, alpha, path, rgb, 0, count);
  return rgb;
}

/**
 * Converts a stretch of pixels.
 *
 * @param from - index of the first pixel
 * @param to - index after the last one
 * @throws OptionError for numbers that are not from 0 to 1
 */
export function convertPixels(
  { data, channels }: CheckedPixels,
  alpha: AlphaMode,
  path: string,
  rgb: Uint8Array,
  from: number,
  to: number,
): void {
  const part = data.subarray(from * channels, to * channels);
  const bytes = types.isFloat32Array(part) ? levelsOf(part, path, from * channels) : part;
  if (channels === 3) {
    rgb.set(bytes, from * 3);
    return;
  }
  for (let source = 0, target = from * 3; source < bytes.length; source += channels, target += 3) {
    if (channels === 1) {
      rgb[target] = rgb[target + 1] = rgb[target + 2] = bytes[source]!;
      continue;
    }
    const opacity = alpha === "drop" ? 255 : bytes[source + 3]!;
    const white = 255 * (255 - opacity) + 127;
    for (let channel = 0; channel < 3; channel++) {
      rgb[target + channel] = (bytes[source + channel]! * opacity + white) / 255;
    }
  }
}

/** Numbers from 0 to 1 as the nearest levels from 0 to 255; what lies beyond by less than half a level is let through. */
export function levelsOf(values: Float32Array, path: string, offset = 0): Uint8Array {
  const bytes = new Uint8Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const level = Math.round(values[i]! * 255);
    if (!(level >= 0 && level <= 255)) {
      const advice = level > 255 ? " Levels from 0 to 255 are passed as a Uint8Array, or divided by 255." : "";
      throw invalid(`${path}.data[${offset + i}]`, "a number from 0 to 1 in a Float32Array", values[i], advice);
    }
    bytes[i] = level;
  }
  return bytes;
}

function isChannels(value: unknown): value is 1 | 3 | 4 {
  return value === 1 || value === 3 || value === 4;
}

/** @throws OptionError for what is no length in pixels */
export function checkSide(value: unknown, path: string): asserts value is number {
  if (Number.isSafeInteger(value) && (value as number) >= 1) return;
  throw invalid(path, "a whole number of at least 1 (pixels)", value, "");
}

function wrongLength(
  path: string,
  length: number,
  width: number,
  height: number,
  channels: 1 | 3 | 4 | undefined,
): OptionError {
  const pixels = width * height;
  const size = `${width} × ${height} pixels`;
  const expected =
    channels === undefined
      ? `${size} of 1, 3 or 4 channels (${pixels}, ${pixels * 3} or ${pixels * 4} values)`
      : `${size} of ${channels} channels (${pixels * channels} values)`;
  return new OptionError(
    `${path}.data must hold ${expected}, received ${length} values. ` +
      "The layout is rows from the top, pixels from the left, channels interleaved (not planes).",
    { path: `${path}.data`, expected, received: length },
  );
}

function adviceFor(data: unknown): string {
  if (Array.isArray(data)) return " Convert it: Uint8Array.from(data).";
  if (types.isUint16Array(data)) return " Convert it: Uint8Array.from(data, (value) => value >> 8).";
  if (types.isFloat64Array(data)) return " Convert it: Float32Array.from(data).";
  return "";
}

function invalid(path: string, expected: string, received: unknown, advice: string): OptionError {
  return new OptionError(`${path} must be ${expected}, received ${showValue(received)}.${advice}`, {
    path,
    expected,
    received,
  });
}
