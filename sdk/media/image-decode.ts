import type { Metadata, SharpOptions } from "sharp";
import { throwIfAborted } from "../core/abort.js";
import { MediaError } from "../core/errors.js";
import { FORMAT_NAMES, IMAGE_HEAD_BYTES, type ImageFileFormat, recognizeImage } from "./image-format.js";
import { loadSharp } from "./load-sharp.js";
import type { AlphaMode } from "./raw-pixels.js";
import { RgbImage } from "./rgb-image.js";

/** Decoders at work at one time: each holds a whole picture, and a thread of Node's pool of four. */
const MOST_AT_ONCE = 2;

let running = 0;
const waiting: (() => void)[] = [];

/** How to decode. */
export interface DecodeSettings {
  alpha: AlphaMode;
  maxPixels: number;
  /** Looked at before decoding begins; decoding itself cannot be broken off. */
  signal: AbortSignal | undefined;
}

/**
 * Decodes an image file: the first frame, upright (EXIF orientation), as 8-bit RGB.
 *
 * Pixels equal those of Pillow: colour profiles of RGB and grey images are not applied, 16 bits keep their upper half. CMYK is
 * converted to sRGB with its profile, or a common one where it has none.
 *
 * @param bytes - must not change until the promise resolves
 * @param name - what messages call the image
 * @throws MediaError for what is not an image, is damaged or cut short, or has more than `maxPixels`; or the signal's reason
 */
export async function decodeImage(bytes: Uint8Array, name: string, settings: DecodeSettings): Promise<RgbImage> {
  const format = decodableFormat(bytes, name);
  if (running >= MOST_AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  else running++;
  try {
    throwIfAborted(settings.signal);
    return await decode(bytes, format, name, settings);
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}

function decodableFormat(bytes: Uint8Array, name: string): ImageFileFormat {
  if (bytes.length === 0) {
    throw new MediaError(`Cannot read an image from ${name}: it is empty (0 bytes). Pass a file that holds an image.`);
  }
  const { format, description, remedy } = recognizeImage(bytes.subarray(0, IMAGE_HEAD_BYTES));
  if (format !== undefined) return format;
  const fault = / image$|drawing$/.test(description) ? ", which is not decoded here" : ", not an image";
  throw new MediaError(`Cannot read an image from ${name}: it is ${description}${fault}. ${remedy}.`);
}

async function decode(
  bytes: Uint8Array,
  format: ImageFileFormat,
  name: string,
  { alpha, maxPixels }: DecodeSettings,
): Promise<RgbImage> {
  const sharp = await loadSharp();
  const options: SharpOptions = { failOn: "error", limitInputPixels: false };
  try {
    const metadata = await sharp(bytes, options).metadata();
    checkMetadata(metadata, name, maxPixels);
    const isCmyk = metadata.space === "cmyk";
    const image = sharp(bytes, { ...options, autoOrient: true, ignoreIcc: !isCmyk });
    // Its fourth channel is black, not transparency.
    if (alpha === "drop" || isCmyk) image.removeAlpha();
    else image.flatten({ background: "#ffffff" });
    const { data, info } = await image
      .toColourspace("srgb")
      .raw({ depth: "uchar" })
      .toBuffer({ resolveWithObject: true });
    return new RgbImage(info.width, info.height, new Uint8Array(data.buffer, data.byteOffset, data.length));
  } catch (error) {
    if (error instanceof MediaError) throw error;
    throw unreadable(format, name, error);
  }
}

function checkMetadata({ width, height, depth }: Metadata, name: string, maxPixels: number): void {
  if (width * height > maxPixels) {
    throw new MediaError(
      `Cannot read an image from ${name}: it has ${width} × ${height} = ${width * height} pixels, more than the limit ` +
        `of ${maxPixels}. Make it smaller first.`,
    );
  }
  if (depth !== "uchar" && depth !== "ushort") {
    // Nothing says which of such numbers is black and which is white.
    throw new MediaError(
      `Cannot read an image from ${name}: its pixels are numbers of type ${depth}. Save it with 8 or 16 bits a channel.`,
    );
  }
}

function unreadable(format: ImageFileFormat, name: string, error: unknown): MediaError {
  const [first = ""] = (error as Error).message.replace("Input buffer has corrupt header:", "").trim().split("\n");
  const reason = /[a-z]/i.test(first) ? ` (${first.replace(/\.$/, "")})` : "";
  return new MediaError(
    `Cannot read an image from ${name}: it is ${FORMAT_NAMES[format]} that is damaged, cut short or of a kind that is not ` +
      `decoded here${reason}. Get the file again, or save it anew with an image editor.`,
    { cause: error },
  );
}
