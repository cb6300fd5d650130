import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { MediaError } from "../core/errors.js";
import { mutate, randomNumbers } from "../testing/damage.js";
import { imageFixture } from "../testing/image-fixtures.js";
import { readImage } from "./image.js";

const FILES = [
  ...["rgb.jpg", "progressive.jpg", "exif-6.jpg", "inks.jpg", "palette-alpha.png", "rgba-16.png"],
  ...["rgb.webp", "frames.webp", "frames.gif", "palette.gif", "rgb.tiff", "lzw.tiff", "flat.avif"],
];
const ROUNDS = 60;

describe("damaged images", () => {
  it.each(FILES)("%s in many states of damage is an image or a MediaError", async (name) => {
    const whole = readFileSync(imageFixture(name));
    const random = randomNumbers(77_123);
    let refused = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const bytes = mutate(whole, random, whole.length);
      try {
        // A size that was damaged may be any; the limit keeps the test small.
        const image = await readImage(bytes, { maxPixels: 1_000_000 });
        expect(image.data.length).toBe(image.width * image.height * 3);
      } catch (error) {
        refused++;
        expect(error, `round ${round}: ${(error as Error).stack}`).toBeInstanceOf(MediaError);
        expect((error as Error).message).toMatch(/^Cannot read an image from the image buffer: .+\.$/);
      }
    }
    expect(refused).toBeGreaterThan(0);
    expect((await readImage(whole)).width).toBeGreaterThan(0);
  });
});
