import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { OptionError } from "../core/errors.js";
import { setNativeForTesting } from "../core/native.js";
import { FakeNative } from "../testing/fake-native.js";
import { pixelAt } from "../testing/image-fixtures.js";
import { cropImage, normalizeImage, padImage, resizeImage } from "./image-pixels.js";
import { RgbImage } from "./rgb-image.js";

/** Each pixel says where it is: R the column, G the row, B always 7. */
function numbered(width: number, height: number): RgbImage {
  const data = new Uint8Array(width * height * 3);
  for (let i = 0; i < width * height; i++) data.set([i % width, Math.floor(i / width), 7], i * 3);
  return new RgbImage(width, height, data);
}

describe("resizing", () => {
  let native: FakeNative;
  beforeEach(() => {
    native = new FakeNative();
    setNativeForTesting(native);
  });
  afterEach(() => {
    setNativeForTesting(undefined);
  });

  it("is the native core's work", async () => {
    const image = await resizeImage(numbered(6, 4), 3, 2, "bicubic");
    expect([image.width, image.height]).toEqual([3, 2]);
    expect(native.resizes).toEqual([
      { size: { width: 6, height: 4 }, target: { width: 3, height: 2 }, filter: "bicubic" },
    ]);
  });

  it("does nothing for the same size", async () => {
    const image = numbered(6, 4);
    expect(await resizeImage(image, 6, 4, "lanczos")).toBe(image);
    expect(native.resizes).toEqual([]);
  });

  it.each([
    [0, 4, "width must be a whole number of at least 1 (pixels), received 0."],
    [4, 1.5, "height must be a whole number of at least 1 (pixels), received 1.5."],
    [NaN, 4, "width must be a whole number of at least 1 (pixels), received NaN."],
    [20_000, 20_000, "width × height must be at most 268402689 pixels, received 20000 × 20000."],
  ])("refuses %d × %d", async (width, height, told) => {
    const error: unknown = await resizeImage(numbered(2, 2), width, height, "bilinear").catch(
      (thrown: unknown) => thrown,
    );
    expect(OptionError.isInstance(error)).toBe(true);
    expect((error as Error).message).toBe(told);
    expect(native.resizes).toEqual([]);
  });

  it("gives a native error the SDK's class", async () => {
    native.resizeImage = () => ({
      job: 1,
      promise: Promise.reject(Object.assign(new Error("filter must be one of them"), { code: "option", details: {} })),
    });
    await expect(resizeImage(numbered(2, 2), 1, 1, "bilinear")).rejects.toThrow(OptionError);
  });
});

describe("cropping", () => {
  it("takes the part that was named", () => {
    const part = cropImage(numbered(7, 5), 2, 1, 3, 2);
    expect([part.width, part.height]).toEqual([3, 2]);
    expect([...part.data]).toEqual([2, 1, 7, 3, 1, 7, 4, 1, 7, 2, 2, 7, 3, 2, 7, 4, 2, 7]);
  });

  it("leaves black what lies outside", () => {
    const part = cropImage(numbered(3, 2), -1, -1, 5, 4);
    for (let y = 0; y < 4; y++) {
      for (let x = 0; x < 5; x++) {
        const inside = x >= 1 && x <= 3 && y >= 1 && y <= 2;
        expect(pixelAt(part, x, y)).toEqual(inside ? [x - 1, y - 1, 7] : [0, 0, 0]);
      }
    }
    expect(cropImage(numbered(3, 2), 10, 10, 2, 2).data.every((level) => level === 0)).toBe(true);
  });

  it("gives memory of its own", () => {
    const image = numbered(3, 2);
    cropImage(image, 0, 0, 3, 2).data.fill(99);
    expect(image).toEqual(numbered(3, 2));
  });
});

describe("padding", () => {
  it.each([[[127, 127, 127] as const], [[1, 2, 3] as const], [[0, 0, 0] as const]])("puts %j around", (color) => {
    const padded = padImage(numbered(3, 2), 6, 5, 2, 1, color);
    expect([padded.width, padded.height]).toEqual([6, 5]);
    for (let y = 0; y < 5; y++) {
      for (let x = 0; x < 6; x++) {
        const inside = x >= 2 && x < 5 && y >= 1 && y < 3;
        expect(pixelAt(padded, x, y)).toEqual(inside ? [x - 2, y - 1, 7] : color);
      }
    }
  });
});

describe("normalizing", () => {
  it("F7: gives planes of R, G and B of an image that is not square", () => {
    const values = normalizeImage(numbered(48, 32), [0, 0, 0], [1, 1, 1], 1);
    expect(values).toHaveLength(3 * 48 * 32);
    for (const [x, y] of [
      [0, 0],
      [47, 0],
      [0, 31],
      [17, 23],
    ] as const) {
      const at = y * 48 + x;
      expect([values[at], values[at + 1536], values[at + 3072]]).toEqual([x, y, 7]);
    }
  });

  it("computes (level / 255 - mean) / std in the nearest 32-bit number", () => {
    const mean = [0.48145466, 0.4578275, 0.40821073];
    const std = [0.26862954, 0.26130258, 0.27577711];
    const data = Uint8Array.from({ length: 256 * 3 }, (_, index) => Math.floor(index / 3));
    const values = normalizeImage(new RgbImage(256, 1, data), mean, std);
    for (let channel = 0; channel < 3; channel++) {
      for (let level = 0; level < 256; level++) {
        const expected = Math.fround((level / 255 - mean[channel]!) / std[channel]!);
        expect(Math.abs(values[channel * 256 + level]! - expected)).toBeLessThan(3e-7);
      }
    }
    // Janus: grey around the picture is level 127.
    expect(normalizeImage(new RgbImage(1, 1, Uint8Array.of(127, 0, 255)), [0.5, 0.5, 0.5], [0.5, 0.5, 0.5])).toEqual(
      Float32Array.of(-0.003921568859368563, -1, 1),
    );
  });
});
