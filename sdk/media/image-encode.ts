import { homedir } from "node:os";
import { dirname, extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { MediaError, OptionError } from "../core/errors.js";
import { wholeNumber } from "../core/option-schemas.js";
import { parseOptions, showValue } from "../core/validate.js";
import { writeWhole } from "../core/write-whole.js";
import { loadSharp } from "./load-sharp.js";

/** Formats in which images are written. */
export type ImageFormat = "png" | "jpeg" | "webp";

/** How to encode an image. */
export interface ImageEncodeOptions {
  /** From 1 to 100, for `jpeg` and `webp`; PNG keeps every pixel. Defaults to 90. */
  quality?: number | undefined;
}

const DEFAULT_QUALITY = 90;
const ENDINGS: Record<string, ImageFormat> = { ".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".webp": "webp" };

const formatSchema = z.enum(["png", "jpeg", "webp"]);
const encodeSchema = z.strictObject({ quality: wholeNumber(1, 100).optional() });

/** 8-bit RGB pixels as an encoded file. */
export async function encodeImage(
  image: { width: number; height: number; data: Uint8Array },
  format: ImageFormat,
  options: ImageEncodeOptions,
): Promise<Buffer> {
  parseOptions(formatSchema, format, "format");
  const { quality } = parseOptions(encodeSchema, options);
  if (format === "png" && quality !== undefined) {
    throw new OptionError(
      "quality does not belong to PNG, which keeps every pixel. Leave it out, or write JPEG or WebP.",
      {
        path: "quality",
        expected: "undefined",
        received: quality,
      },
    );
  }
  const { width, height, data } = image;
  const sharp = await loadSharp();
  const pixels = sharp(data, { raw: { width, height, channels: 3 }, limitInputPixels: false });
  try {
    switch (format) {
      case "png":
        return await pixels.png().toBuffer();
      case "jpeg":
        // Full colour resolution: pictures that a model made have sharp coloured edges.
        return await pixels.jpeg({ quality: quality ?? DEFAULT_QUALITY, chromaSubsampling: "4:4:4" }).toBuffer();
      case "webp":
        return await pixels.webp({ quality: quality ?? DEFAULT_QUALITY }).toBuffer();
    }
  } catch (error) {
    throw new MediaError(
      `The image of ${width} × ${height} pixels cannot be written as ${format}: ${(error as Error).message}.`,
      { cause: error },
    );
  }
}

/** The format that a file name's ending says. */
export function formatOf(path: string): ImageFormat {
  const ending = extname(path).toLowerCase();
  const format = ENDINGS[ending];
  if (format !== undefined) return format;
  const expected = "a file name that ends in .png, .jpg, .jpeg or .webp";
  throw new OptionError(`path must be ${expected}, received ${showValue(path)}.`, {
    path: "path",
    expected,
    received: path,
  });
}

/** Writes what `encode` makes for a path, in one step. */
export async function writeImage(path: string | URL, encode: (target: string) => Promise<Buffer>): Promise<void> {
  const target = targetOf(path);
  const bytes = await encode(target);
  try {
    await writeWhole(target, bytes);
  } catch (error) {
    throw new MediaError(`Cannot write the image to ${target}: ${writeFailure(target, error)}.`, { cause: error });
  }
}

function targetOf(path: unknown): string {
  const expected = "the path of a file (a string or a file: URL)";
  const text = path instanceof URL ? path.href : path;
  const invalid = (advice: string, cause?: unknown): OptionError =>
    new OptionError(`path must be ${expected}, received ${showValue(text)}.${advice}`, {
      path: "path",
      expected,
      received: path,
      cause,
    });
  if (typeof text !== "string" || text.trim() === "") throw invalid("");
  let target = text;
  if (/^file:/i.test(text)) {
    try {
      target = fileURLToPath(text);
    } catch (error) {
      throw invalid(` ${(error as Error).message}.`, error);
    }
  } else if (path instanceof URL) {
    throw invalid("");
  }
  if (target.includes("\0")) throw invalid(" A path cannot hold a NUL character.");
  return target.startsWith("~/") ? join(homedir(), target.slice(1)) : resolve(target);
}

function writeFailure(target: string, error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case "ENOTDIR":
      return `${dirname(target)} is not a folder. Choose another one`;
    case "ENOENT":
      return `there is no folder ${dirname(target)}. Make it first`;
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return "no permission to write there. Choose another folder";
    case "ENOSPC":
    case "EDQUOT":
      return "the disk is full. Free some space";
    case "EISDIR":
      return "it is a folder. Choose another name";
    case "ENAMETOOLONG":
      return "the name is too long for this system. Choose a shorter one";
    default:
      return (error as Error).message;
  }
}
