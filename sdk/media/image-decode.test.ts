import { readFileSync } from "node:fs";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { MediaError } from "../core/errors.js";
import { difference, expectedImages, imageFixture, pixelAt } from "../testing/image-fixtures.js";
import { readImage } from "./image.js";

const EXPECTED = expectedImages();
const FILES = [...EXPECTED.keys()];

describe("what is read in a picture", () => {
  it.each(FILES)("F3: %s is what Pillow reads, transparency dropped", async (name) => {
    const image = await readImage(imageFixture(name), { alpha: "drop" });
    const { width, height, drop } = EXPECTED.get(name)!;
    expect([image.width, image.height]).toEqual([width, height]);
    expect(image.data.length).toBe(width * height * 3);
    expect(difference(image.data, drop)).toBeLessThanOrEqual(tolerance(name, 0));
  });

  it.each(FILES)("F3: %s is what Pillow lays over white", async (name) => {
    const image = await readImage(imageFixture(name));
    const { width, height, flatten } = EXPECTED.get(name)!;
    expect([image.width, image.height]).toEqual([width, height]);
    // The two divide by 255 in their own ways.
    expect(difference(image.data, flatten)).toBeLessThanOrEqual(tolerance(name, 1));
  });

  it("F3: 16 bits, grey and palettes equal their 8-bit RGB twins exactly", async () => {
    const rgb = await readImage(imageFixture("rgb.png"));
    const grey = await readImage(imageFixture("grey.png"));
    expect(await readImage(imageFixture("rgb-16.png"))).toEqual(rgb);
    expect(await readImage(imageFixture("grey-16.png"))).toEqual(grey);
    const asRgb = await sharp(grey.data, { raw: { width: 24, height: 16, channels: 3 } })
      .png()
      .toBuffer();
    expect(await readImage(asRgb)).toEqual(grey);
    const palette = await sharp(imageFixture("rgb.png")).png({ palette: true, colours: 8, dither: 0 }).toBuffer();
    const twin = await sharp(palette).removeAlpha().toColourspace("srgb").raw().toBuffer();
    expect(difference((await readImage(palette)).data, twin)).toBe(0);
  });

  it("leaves the colours of RGB profiles as they are stored, as Pillow does", async () => {
    const profiled = (await sharp(imageFixture("p3.png")).metadata()).icc;
    expect(profiled!.length).toBeGreaterThan(100);
    const converted = await sharp(imageFixture("p3.png")).removeAlpha().raw().toBuffer();
    const image = await readImage(imageFixture("p3.png"));
    expect(difference(image.data, EXPECTED.get("p3.png")!.drop)).toBe(0);
    expect(difference(image.data, converted)).toBeGreaterThan(5);
  });

  /** AV1 decoders differ in how they enlarge colour. */
  function tolerance(name: string, otherwise: number): number {
    return name.endsWith(".avif") ? 2 : otherwise;
  }
});

describe("F1: orientation", () => {
  const upright = EXPECTED.get("exif-1.jpg")!;

  it.each([1, 2, 3, 4, 5, 6, 7, 8])("%i equals the twin turned by hand", async (orientation) => {
    const image = await readImage(imageFixture(`exif-${orientation}.jpg`));
    const turned = turn(upright, orientation);
    expect([image.width, image.height]).toEqual([turned.width, turned.height]);
    expect(difference(image.data, turned.data)).toBe(0);
  });

  it("matters: the stored pixels are the same in all of them", async () => {
    for (const orientation of [2, 5, 6, 8]) {
      const stored = await sharp(imageFixture(`exif-${orientation}.jpg`))
        .raw()
        .toBuffer();
      expect(difference(stored, upright.drop)).toBe(0);
      const image = await readImage(imageFixture(`exif-${orientation}.jpg`));
      expect(difference(image.data, upright.drop)).toBeGreaterThan(100);
    }
  });

  /** What EXIF says: where the stored pixel (x, y) belongs. */
  function turn({ width, height, drop }: { width: number; height: number; drop: Uint8Array }, orientation: number) {
    const swaps = orientation >= 5;
    const [newWidth, newHeight] = swaps ? [height, width] : [width, height];
    const data = new Uint8Array(drop.length);
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const [right, down] = [width - 1 - x, height - 1 - y];
        const places = [
          [x, y],
          [right, y],
          [right, down],
          [x, down],
          [y, x],
          [down, x],
          [down, right],
          [y, right],
        ];
        const [column, row] = places[orientation - 1] as [number, number];
        const from = (y * width + x) * 3;
        data.set(drop.subarray(from, from + 3), (row * newWidth + column) * 3);
      }
    }
    return { width: newWidth, height: newHeight, data };
  }
});

describe("F4: CMYK", () => {
  /** Colours that inks can give. */
  const PATCHES: Record<string, [number, number, number]> = {
    red: [190, 45, 45],
    green: [60, 140, 75],
    blue: [50, 75, 140],
    white: [255, 255, 255],
    black: [42, 40, 38],
  };

  it.each(Object.keys(PATCHES).flatMap((name) => [`${name} with profile`, `${name} without profile`]))(
    "%s is the same again",
    async (name) => {
      const [color, which] = name.split(" ") as [string, string];
      const [r, g, b] = PATCHES[color]!;
      const patch = sharp({ create: { width: 16, height: 16, channels: 3, background: { r, g, b } } });
      const printed = patch.toColourspace("cmyk").jpeg({ quality: 100 });
      const bytes = await (which === "with" ? printed.withIccProfile("cmyk") : printed).toBuffer();
      const { channels, hasProfile } = await sharp(bytes).metadata();
      expect([channels, hasProfile]).toEqual([4, which === "with"]);
      const pixel = new Uint8Array(pixelAt(await readImage(bytes), 8, 8));
      expect(difference(pixel, new Uint8Array([r, g, b]))).toBeLessThanOrEqual(40);
    },
  );

  it("pure inks of another program are red, green, blue, white and black", async () => {
    const image = await readImage(imageFixture("inks.jpg"));
    expect([image.width, image.height]).toEqual([40, 8]);
    const [red, green, blue, white, black] = [4, 12, 20, 28, 36].map((x) => pixelAt(image, x, 4));
    expect(red![0]! - Math.max(red![1]!, red![2]!)).toBeGreaterThan(100);
    expect(green![1]! - Math.max(green![0]!, green![2]!)).toBeGreaterThan(40);
    expect(blue![2]! - Math.max(blue![0]!, blue![1]!)).toBeGreaterThan(40);
    expect(Math.min(...white!)).toBeGreaterThan(250);
    expect(Math.max(...black!)).toBeLessThan(60);
  });

  it("has no transparency to drop: both ways give the same", async () => {
    const bytes = await sharp(imageFixture("rgb.png")).toColourspace("cmyk").jpeg().toBuffer();
    expect(await readImage(bytes, { alpha: "drop" })).toEqual(await readImage(bytes));
  });
});

describe("F5: several frames", () => {
  it.each(["frames.gif", "frames.webp", "pages.tiff"])("%s: the first one alone, in its own size", async (name) => {
    expect((await sharp(imageFixture(name)).metadata()).pages).toBe(3);
    const image = await readImage(imageFixture(name));
    const twin = await sharp({ create: { width: 12, height: 8, channels: 3, background: "red" } })
      .png()
      .toBuffer();
    expect(image).toEqual(await readImage(twin));
  });
});

describe("F6: tiny, narrow and huge", () => {
  it.each([
    [1, 1],
    [1, 1000],
    [1000, 1],
    [27, 257],
    [690, 15420],
  ])("%i × %i is read as it is", async (width, height) => {
    const flat = sharp({ create: { width, height, channels: 3, background: { r: 9, g: 99, b: 199 } } });
    const image = await readImage(await flat.png().toBuffer());
    expect([image.width, image.height, image.data.length]).toEqual([width, height, width * height * 3]);
    expect(pixelAt(image, width - 1, height - 1)).toEqual([9, 99, 199]);
  });

  it("more than maxPixels is refused before it is decoded, with both numbers", async () => {
    const error = await readImage(pngHeader(20000, 20000)).catch((thrown: unknown) => thrown);
    expect(MediaError.isInstance(error)).toBe(true);
    expect((error as Error).message).toBe(
      "Cannot read an image from the image buffer: it has 20000 × 20000 = 400000000 pixels, more than the limit of " +
        "268402689. Make it smaller first.",
    );
    const small = readFileSync(imageFixture("rgb.png"));
    await expect(readImage(small, { maxPixels: 24 * 16 - 1 })).rejects.toThrow("24 × 16 = 384 pixels");
    expect((await readImage(small, { maxPixels: 24 * 16 })).width).toBe(24);
  });

  /** The beginning of a PNG file, which tells its size. */
  function pngHeader(width: number, height: number): Buffer {
    const bytes = Buffer.from(readFileSync(imageFixture("rgb.png")));
    bytes.writeUInt32BE(width, 16);
    bytes.writeUInt32BE(height, 20);
    // CRC of the IHDR chunk.
    let sum = 0xffffffff;
    for (const byte of bytes.subarray(12, 29)) {
      sum ^= byte;
      for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
    }
    bytes.writeUInt32BE(~sum >>> 0, 29);
    return bytes;
  }
});

describe("F6: what is no image, or not a whole one", () => {
  it.each([
    "rgb.jpg",
    "progressive.jpg",
    "rgb-16.png",
    "palette.gif",
    "lossless.webp",
    "rgb.tiff",
    "lzw.tiff",
    "flat.avif",
  ])("half of %s is a MediaError that names it", async (name) => {
    const bytes = readFileSync(imageFixture(name));
    const error = await readImage(bytes.subarray(0, bytes.length / 2), { path: "images[3]" }).catch(
      (thrown: unknown) => thrown,
    );
    expect(MediaError.isInstance(error)).toBe(true);
    expect((error as Error).message).toMatch(
      /^Cannot read an image from images\[3\]: it is an? (JPEG|PNG|GIF|WebP|TIFF|AVIF) image that is damaged, cut short .*Get the file again/,
    );
  });

  it.each([
    ["", "it is empty (0 bytes). Pass a file that holds an image."],
    [
      "Hello, this is no picture.\n",
      "it is a text file, not an image. Pass a JPEG, PNG, WebP, GIF, TIFF or AVIF image.",
    ],
    ["<!DOCTYPE html><html>", "it is an HTML page (an error page of a server?), not an image."],
    [
      '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"></svg>',
      "it is an SVG drawing, which is not decoded here. Draw it into a PNG first",
    ],
    ["<svg width='8'>", "it is an SVG drawing, which is not decoded here."],
    ["%PDF-1.7", "it is a PDF document, not an image."],
    ["BM\x46\0\0\0", "it is a BMP image, which is not decoded here. Convert it to PNG or JPEG first."],
    ["\0\0\0\x20ftypheic\0\0\0\0", "it is a HEIC image, which is not decoded here. Convert it to PNG or JPEG first."],
    ["\0\0\0\x0cJXL \r\n", "it is a JPEG XL image, which is not decoded here."],
    ["8BPS\0\x01", "it is a Photoshop (PSD) file, not an image. Convert it to PNG or JPEG first."],
    ["ID3\x04\0", "it is an MP3 file, not an image."],
    ["RIFF\x24\0\0\0WAVEfmt ", "it is a WAV file, not an image."],
    ["\x89PNG\r\n\x1a\nrubbish", "it is a PNG image that is damaged, cut short or of a kind that is not decoded here"],
  ])("%j is told for what it is", async (content, told) => {
    const error = await readImage(Buffer.from(content, "latin1")).catch((thrown: unknown) => thrown);
    expect(MediaError.isInstance(error)).toBe(true);
    expect((error as Error).message).toContain(`Cannot read an image from the image buffer: ${told}`);
  });

  it("numbers without a white are refused by type", async () => {
    await expect(readImage(imageFixture("float.tiff"))).rejects.toThrow(
      `Cannot read an image from ${imageFixture("float.tiff")}: its pixels are numbers of type float. Save it with 8 or 16`,
    );
  });

  it("the next image is read all the same", async () => {
    const bad = readImage(Buffer.from("\xff\xd8\xff\xe0rubbish", "latin1"));
    await expect(bad).rejects.toThrow(MediaError);
    expect((await readImage(imageFixture("rgb.jpg"))).width).toBe(24);
  });
});

describe("many at once", () => {
  it("are all read, more than decode at one time", async () => {
    const names = Array.from({ length: 24 }, (_, index) => FILES[index % FILES.length]!);
    const images = await Promise.all(names.map((name) => readImage(imageFixture(name), { alpha: "drop" })));
    images.forEach((image, index) => {
      const { drop } = EXPECTED.get(names[index]!)!;
      expect(difference(image.data, drop)).toBeLessThanOrEqual(names[index]!.endsWith(".avif") ? 2 : 0);
    });
  });
});
