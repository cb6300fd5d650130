import { encodeImage, type ImageEncodeOptions, formatOf, type ImageFormat, writeImage } from "./image-encode.js";
import { type AlphaMode, checkPixels, type RawPixels, rgbOf } from "./raw-pixels.js";

/** A picture as plain pixels: 8-bit RGB without transparency. */
export class RgbImage {
  /** Pixels in a row. */
  readonly width: number;
  /** Rows. */
  readonly height: number;
  /** `width * height * 3` bytes: rows from the top, pixels from the left, each as R, G, B. */
  readonly data: Uint8Array;

  /**
   * Takes pixels as they are, without a copy.
   *
   * @param data - `width * height * 3` bytes
   * @throws OptionError when the length does not fit the size
   */
  constructor(width: number, height: number, data: Uint8Array) {
    checkPixels({ data, width, height, channels: 3 }, "pixels");
    this.width = width;
    this.height = height;
    this.data = data;
  }

  /**
   * Makes an image of pixels in another form; they are copied. Grey becomes equal R, G and B.
   *
   * @param alpha - what becomes of transparency: `flatten` lays the picture over white, `drop` leaves the colours that are
   *   stored under it. Defaults to `flatten`
   * @throws OptionError when the length does not fit the size, or a number is not from 0 to 1
   */
  static fromPixels(pixels: RawPixels, alpha: AlphaMode = "flatten"): RgbImage {
    return new RgbImage(pixels.width, pixels.height, rgbOf(checkPixels(pixels, "pixels"), alpha, "pixels"));
  }

  /**
   * The image as an encoded file.
   *
   * @throws OptionError for an unknown format or a quality that does not fit
   */
  toBuffer(format: ImageFormat = "png", options: ImageEncodeOptions = {}): Promise<Buffer> {
    return encodeImage(this, format, options);
  }

  /**
   * Writes the image into a file, in the format that the name's ending says: `.png`, `.jpg`, `.jpeg` or `.webp`. An existing
   * file is replaced when the new one is complete.
   *
   * @param path - a path or a `file:` URL; its folder must exist
   * @throws OptionError for another ending or a quality that does not fit
   * @throws MediaError if the file cannot be written
   */
  async toFile(path: string | URL, options: ImageEncodeOptions = {}): Promise<void> {
    await writeImage(path, (target) => encodeImage(this, formatOf(target), options));
  }
}
