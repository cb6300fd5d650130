import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import sharp from "sharp";
import { afterAll, describe, expect, it } from "vitest";
import { MediaError, OptionError } from "../core/errors.js";
import { difference, pixelAt } from "../testing/image-fixtures.js";
import { readImage } from "./image.js";
import { RgbImage } from "./rgb-image.js";

const folder = mkdtempSync(join(tmpdir(), "pergola picture "));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Smooth, not square, all channels different. */
function picture(width = 60, height = 40): RgbImage {
  const data = new Uint8Array(width * height * 3);
  for (let i = 0; i < width * height; i++) {
    const [x, y] = [i % width, Math.floor(i / width)];
    data.set([x * 4, y * 6, 250 - x * 2 - y], i * 3);
  }
  return new RgbImage(width, height, data);
}

async function failure(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => {
      throw new Error("nothing was thrown");
    },
    (error: unknown) => error as Error,
  );
}

describe("an image", () => {
  it("keeps the bytes that it is made of", () => {
    const data = new Uint8Array(6);
    expect(new RgbImage(2, 1, data).data).toBe(data);
  });

  it("must have as many bytes as its size says", () => {
    expect(() => new RgbImage(2, 2, new Uint8Array(11))).toThrow(
      "pixels.data must hold 2 × 2 pixels of 3 channels (12 values), received 11 values.",
    );
    expect(() => new RgbImage(0, 2, new Uint8Array(0))).toThrow(OptionError);
  });

  it("is made of pixels in other forms", () => {
    const image = RgbImage.fromPixels({ data: Uint8ClampedArray.of(1, 2, 3, 0, 4, 5, 6, 255), width: 2, height: 1 });
    expect([...image.data]).toEqual([255, 255, 255, 4, 5, 6]);
    const dropped = RgbImage.fromPixels({ data: Uint8Array.of(1, 2, 3, 0), width: 1, height: 1, channels: 4 }, "drop");
    expect([...dropped.data]).toEqual([1, 2, 3]);
    const data = new Uint8Array(3);
    const copy = RgbImage.fromPixels({ data, width: 1, height: 1 });
    data.fill(9);
    expect([...copy.data]).toEqual([0, 0, 0]);
  });
});

describe("encoding", () => {
  it("H4: a PNG reads back equal", async () => {
    const image = picture();
    const bytes = await image.toBuffer("png");
    expect(await readImage(bytes)).toEqual(image);
    expect(await image.toBuffer()).toEqual(bytes);
    const { data } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
    expect(difference(data, image.data)).toBe(0);
  });

  it.each(["jpeg", "webp"] as const)("%s comes near, nearer with more quality", async (format) => {
    const image = picture();
    const [low, usual, best] = await Promise.all([
      image.toBuffer(format, { quality: 5 }),
      image.toBuffer(format),
      image.toBuffer(format, { quality: 100 }),
    ]);
    expect((await sharp(usual).metadata()).format).toBe(format);
    expect(low.length).toBeLessThan(best.length);
    const distances = await Promise.all(
      [low, usual, best].map(async (bytes) => distance(await readImage(bytes), image)),
    );
    expect(distances[0]).toBeGreaterThan(distances[2]!);
    expect(distances[1]).toBeLessThan(4);
  });

  it("H4: red, green and blue stay themselves in every format", async () => {
    for (const format of ["png", "jpeg", "webp"] as const) {
      const data = new Uint8Array(48 * 16 * 3);
      for (let i = 0; i < 48 * 16; i++) data[i * 3 + Math.floor((i % 48) / 16)] = 255;
      const back = await readImage(await new RgbImage(48, 16, data).toBuffer(format));
      const channels = [8, 24, 40].map((x) => pixelAt(back, x, 8));
      channels.forEach((levels, channel) => {
        levels.forEach((level, at) => {
          if (at === channel) expect(level).toBeGreaterThan(240);
          else expect(level).toBeLessThan(15);
        });
      });
    }
  });

  it("refuses unknown formats, and qualities that do not fit", async () => {
    const image = picture();
    const refused = [
      image.toBuffer("gif" as "png"),
      image.toBuffer("jpeg", { quality: 0 }),
      image.toBuffer("jpeg", { quality: 101 }),
      image.toBuffer("webp", { quality: 90.5 }),
      image.toBuffer("png", { quality: 90 }),
      image.toBuffer("jpeg", { qualty: 90 } as object),
    ];
    const messages = await Promise.all(
      refused.map(async (work) => {
        const error = await failure(work);
        expect(OptionError.isInstance(error)).toBe(true);
        return error.message;
      }),
    );
    expect(messages).toEqual([
      expect.stringMatching(/^format must be .*"png"/),
      "quality must be a whole number from 1 to 100, received 0.",
      "quality must be a whole number from 1 to 100, received 101.",
      "quality must be a whole number from 1 to 100, received 90.5.",
      expect.stringMatching(/^quality does not belong to PNG/),
      'Unknown option "qualty". Did you mean "quality"?',
    ]);
  });

  it("a side that a format cannot have is a MediaError", async () => {
    const error = await failure(new RgbImage(20_000, 1, new Uint8Array(60_000)).toBuffer("webp"));
    expect(MediaError.isInstance(error)).toBe(true);
    expect(error.message).toContain("The image of 20000 × 1 pixels cannot be written as webp");
  });

  function distance(actual: RgbImage, expected: RgbImage): number {
    const sum = actual.data.reduce((total, level, index) => total + Math.abs(level - expected.data[index]!), 0);
    return sum / actual.data.length;
  }
});

describe("files", () => {
  it.each([
    ["a.png", "png"],
    ["b.jpg", "jpeg"],
    ["c.JPEG", "jpeg"],
    ["ein Bild é.webp", "webp"],
  ])("%s is written as %s", async (name, format) => {
    const path = join(folder, name);
    await picture().toFile(path);
    expect((await sharp(readFileSync(path)).metadata()).format).toBe(format);
  });

  it("a PNG file reads back equal, by path and by URL, over an older file", async () => {
    const path = join(folder, "again.png");
    writeFileSync(path, "old");
    await picture().toFile(path);
    expect(await readImage(path)).toEqual(picture());
    await picture(5, 5).toFile(pathToFileURL(path));
    expect(await readImage(path)).toEqual(picture(5, 5));
  });

  it("takes the quality", async () => {
    await picture().toFile(join(folder, "low.jpg"), { quality: 10 });
    await picture().toFile(join(folder, "high.jpg"), { quality: 100 });
    expect(readFileSync(join(folder, "low.jpg")).length).toBeLessThan(readFileSync(join(folder, "high.jpg")).length);
  });

  it.each([["a.gif"], ["a"], ["a.png.txt"]])("%s is refused with the endings that are known", async (name) => {
    const error = await failure(picture().toFile(join(folder, name)));
    expect(OptionError.isInstance(error)).toBe(true);
    expect(error.message).toContain("path must be a file name that ends in .png, .jpg, .jpeg or .webp, received");
  });

  it.each([
    [""],
    [undefined],
    [7],
    ["a\0.png"],
    [new URL("http://example.org/a.png")],
    ["file://host/a.png"],
    ["file:///a%2Fb.png"],
    [new URL("file:///a%00.png")],
  ])("%s is no path", async (path) => {
    const error = await failure(picture().toFile(path as string));
    expect(OptionError.isInstance(error)).toBe(true);
    expect(error.message).toContain("path must be the path of a file");
  });

  it("a folder that is missing, or in the place of the file, is told; nothing is left behind", async () => {
    const missing = await failure(picture().toFile(join(folder, "none", "a.png")));
    expect(MediaError.isInstance(missing)).toBe(true);
    expect(missing.message).toContain(`there is no folder ${join(folder, "none")}. Make it first.`);
    writeFileSync(join(folder, "file"), "");
    const inFile = await failure(picture().toFile(join(folder, "file", "a.png")));
    expect(inFile.message).toContain(`${join(folder, "file")} is not a folder. Choose another one.`);
    const taken = join(folder, "taken.png");
    mkdirSync(taken);
    const blocked = await failure(picture().toFile(taken));
    expect(MediaError.isInstance(blocked)).toBe(true);
    expect(blocked.message).toContain("it is a folder. Choose another name.");
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it("two at once on one path leave one of them, whole", async () => {
    const path = join(folder, "race.png");
    await Promise.all([picture(10, 10).toFile(path), picture(20, 20).toFile(path), picture(30, 30).toFile(path)]);
    const image = await readImage(path);
    expect(image).toEqual(picture(image.width, image.height));
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });
});
