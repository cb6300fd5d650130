import { recognizeFormat } from "./audio-format.js";

/** Formats that are decoded. */
export type ImageFileFormat = "jpeg" | "png" | "webp" | "gif" | "tiff" | "avif";

/** What the first bytes of a file say. */
export interface RecognizedImage {
  /** The format, if it is decoded. */
  format?: ImageFileFormat;
  /** For messages: "a BMP image". */
  description: string;
  /** What to do about a format that is not decoded. */
  remedy: string;
}

/** Bytes that {@link recognizeImage} likes to see. */
export const IMAGE_HEAD_BYTES = 1024;

type Signature = [offset: number, text: string, format: ImageFileFormat];

const DECODED: Signature[] = [
  [0, "\xff\xd8\xff", "jpeg"],
  [0, "\x89PNG\r\n\x1a\n", "png"],
  [8, "WEBP", "webp"],
  [0, "GIF87a", "gif"],
  [0, "GIF89a", "gif"],
  [0, "II*\x00", "tiff"],
  [0, "MM\x00*", "tiff"],
  [0, "II+\x00", "tiff"],
  [0, "MM\x00+", "tiff"],
  [4, "ftypavif", "avif"],
  [4, "ftypavis", "avif"],
];

const OTHER: [offset: number, text: string, description: string][] = [
  [0, "BM", "a BMP image"],
  [0, "\x00\x00\x01\x00", "an ICO image"],
  [0, "8BPS", "a Photoshop (PSD) file"],
  [0, "\xff\x0a", "a JPEG XL image"],
  [4, "JXL ", "a JPEG XL image"],
  [4, "jP  ", "a JPEG 2000 image"],
  [0, "\xff\x4f\xff\x51", "a JPEG 2000 image"],
  [0, "qoif", "a QOI image"],
  [0, "#?RADIANCE", "a Radiance HDR image"],
  [0, "v/1\x01", "an OpenEXR image"],
  [0, "gimp xcf", "a GIMP (XCF) file"],
  [0, "ID3", "an MP3 file"],
];

/** Names for messages. */
export const FORMAT_NAMES: Record<ImageFileFormat, string> = {
  jpeg: "a JPEG image",
  png: "a PNG image",
  webp: "a WebP image",
  gif: "a GIF image",
  tiff: "a TIFF image",
  avif: "an AVIF image",
};

const CONVERT = "Convert it to PNG or JPEG first";
const OTHER_FILE = "Pass a JPEG, PNG, WebP, GIF, TIFF or AVIF image";

/** Recognizes an image by its content; its name does not count. */
export function recognizeImage(head: Uint8Array): RecognizedImage {
  const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString("latin1");
  for (const [offset, signature, format] of DECODED) {
    if (text.startsWith(signature, offset)) return { format, description: FORMAT_NAMES[format], remedy: "" };
  }
  if (/^(\xef\xbb\xbf)?\s*</.test(text) && /<svg[\s>]/i.test(text)) {
    return {
      description: "an SVG drawing",
      remedy: "Draw it into a PNG first, in the size and with the fonts you want",
    };
  }
  // HEIC is listed there as well.
  const { description } =
    OTHER.map(([offset, signature, name]) => ({ hit: text.startsWith(signature, offset), description: name })).find(
      ({ hit }) => hit,
    ) ?? recognizeFormat(head);
  const isImage = / image$|\(PSD\)|\(XCF\)/.test(description);
  return { description: description.replace(", not audio", ""), remedy: isImage ? CONVERT : OTHER_FILE };
}
