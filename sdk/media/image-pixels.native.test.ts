import { describe, expect, it } from "vitest";
import { OptionError } from "../core/errors.js";
import { getNative } from "../core/native.js";
import { expectedResizes, imageFixture } from "../testing/image-fixtures.js";
import { readImage } from "./image.js";
import { resizeImage, type ResizeFilter } from "./image-pixels.js";
import { RgbImage } from "./rgb-image.js";

describe("resizing by the real addon", () => {
  it.each(expectedResizes())("F7: to $width × $height, $filter: equals Pillow byte by byte", async (expected) => {
    const { width, height, filter, data } = expected;
    const image = await resizeImage(await readImage(imageFixture("rgb.png")), width, height, filter);
    expect([image.width, image.height]).toEqual([width, height]);
    expect([...image.data]).toEqual([...data]);
  });

  it.each<[number, number, number, number]>([
    [1, 1, 384, 384],
    [1, 1000, 14, 384],
    [1000, 1, 384, 14],
    [690, 15420, 17, 384],
    [5000, 5000, 1, 1],
  ])("F6: %i × %i to %i × %i keeps a flat colour", async (width, height, toWidth, toHeight) => {
    const flat = new RgbImage(width, height, new Uint8Array(width * height * 3).fill(93));
    for (const filter of ["bilinear", "bicubic", "lanczos"] as const) {
      const { data } = await resizeImage(flat, toWidth, toHeight, filter);
      expect(data.length).toBe(toWidth * toHeight * 3);
      expect(data.every((level) => level === 93)).toBe(true);
    }
  });

  it("takes views into larger memory, and many images at once", async () => {
    const around = new Uint8Array(24 * 16 * 3 + 100);
    const { data } = await readImage(imageFixture("rgb.png"));
    around.set(data, 31);
    const view = new RgbImage(24, 16, around.subarray(31, 31 + data.length));
    const [first, ...others] = await Promise.all(
      Array.from({ length: 20 }, () => resizeImage(view, 40, 27, "bicubic")),
    );
    const expected = expectedResizes().find(({ width, filter }) => width === 40 && filter === "bicubic")!;
    expect([...first!.data]).toEqual([...expected.data]);
    for (const other of others) expect(other).toEqual(first);
  });

  it("does not hold up the event loop", async () => {
    const image = new RgbImage(4000, 3000, new Uint8Array(36_000_000));
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await resizeImage(image, 384, 288, "lanczos");
    clearInterval(timer);
    expect(turns).toBeGreaterThan(1);
  });

  it("refuses what TypeScript lets nobody pass, as exceptions and not as crashes", async () => {
    const native = getNative();
    const size = { width: 2, height: 2 };
    const pixels = new Uint8Array(12);
    await expect(resizeImage(new RgbImage(2, 2, pixels), 1, 1, "nearest" as ResizeFilter)).rejects.toThrow(OptionError);
    expect(() => native.resizeImage(new Uint8Array(11), size, size, "bicubic")).toThrow(
      "width * height * 3 = 12 bytes, received 11",
    );
    expect(() => native.resizeImage(new Float32Array(12) as never, size, size, "bicubic")).toThrow("Uint8Array");
    expect(() => native.resizeImage(pixels, size, { width: 0, height: 1 }, "bicubic")).toThrow("target must have");
    expect(() => native.resizeImage(pixels, size, { width: NaN, height: 1 }, "bicubic")).toThrow("target must have");
    expect(() => (native.resizeImage as () => unknown)()).toThrow(TypeError);
    expect((await resizeImage(new RgbImage(2, 2, pixels), 1, 1, "bicubic")).data).toHaveLength(3);
  });
});
