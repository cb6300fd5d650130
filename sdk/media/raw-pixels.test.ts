import { describe, expect, it } from "vitest";
import { OptionError } from "../core/errors.js";
import { type ImageInput, readImage } from "./image.js";
import { RgbImage } from "./rgb-image.js";

async function failure(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => {
      throw new Error("nothing was thrown");
    },
    (error: unknown) => error as Error,
  );
}

describe("F7: raw pixels", () => {
  const RGB = Uint8Array.from({ length: 4 * 2 * 3 }, (_, index) => (index * 37) % 256);
  const size = { width: 4, height: 2 };

  it("are taken in every form, with the same result", async () => {
    const around = new Uint8Array(40);
    around.set(RGB, 5);
    const withAlpha = (values: Uint8Array, opaque: number) =>
      Array.from({ length: 8 }, (_, i) => [...values.subarray(i * 3, i * 3 + 3), opaque]).flat();
    const expected = new RgbImage(4, 2, RGB);
    const inputs: ImageInput[] = [
      { data: RGB, ...size, channels: 3 },
      { data: RGB, ...size },
      { data: new Uint8ClampedArray(RGB), ...size },
      { data: Buffer.from(around.buffer, 5, RGB.length), ...size },
      { data: Float32Array.from(RGB, (level) => level / 255), ...size },
      { data: Float32Array.from(RGB, (level) => level / 255 + 0.0019), ...size },
      { data: Uint8Array.from(withAlpha(RGB, 255)), ...size, channels: 4 },
      { data: Uint8ClampedArray.from(withAlpha(RGB, 255)), ...size },
      expected,
    ];
    for (const input of inputs) expect(await readImage(input)).toEqual(expected);
  });

  it("grey becomes equal R, G and B", async () => {
    const image = await readImage({ data: Uint8Array.of(0, 9, 255), width: 3, height: 1 });
    expect([...image.data]).toEqual([0, 0, 0, 9, 9, 9, 255, 255, 255]);
  });

  it("alpha is laid over white, or dropped", async () => {
    const data = Uint8Array.of(10, 20, 30, 0, 10, 20, 30, 128, 10, 20, 30, 255);
    const image = { data, width: 3, height: 1 };
    expect([...(await readImage(image)).data]).toEqual([255, 255, 255, 132, 137, 142, 10, 20, 30]);
    expect([...(await readImage(image, { alpha: "drop" })).data]).toEqual([10, 20, 30, 10, 20, 30, 10, 20, 30]);
  });

  it("alpha over white is rounded to the nearest level, for every pair", async () => {
    const data = new Uint8Array(256 * 256 * 4);
    for (let i = 0; i < 65536; i++) data.set([i % 256, i % 256, i % 256, i >> 8], i * 4);
    const flat = await readImage({ data, width: 256, height: 256 });
    const wrong = Array.from({ length: 65536 }, (_, i) => i).filter((i) => {
      const [level, opacity] = [i % 256, i >> 8];
      return Math.abs(flat.data[i * 3]! - (level * opacity + 255 * (255 - opacity)) / 255) > 0.5;
    });
    expect(wrong).toEqual([]);
  });

  it.each([
    [
      { data: RGB.subarray(1), ...size, channels: 3 as const },
      "4 × 2 pixels of 3 channels (24 values), received 23 values",
    ],
    [{ data: RGB, ...size, channels: 4 as const }, "4 × 2 pixels of 4 channels (32 values), received 24 values"],
    [
      { data: RGB, width: 5, height: 2 },
      "5 × 2 pixels of 1, 3 or 4 channels (10, 30 or 40 values), received 24 values",
    ],
    [{ data: new Uint8Array(0), ...size }, "received 0 values"],
  ])("a wrong length is refused with both lengths", async (input, told) => {
    const error = await failure(readImage(input, { path: "picture" }));
    expect(OptionError.isInstance(error)).toBe(true);
    expect(error.message).toContain(`picture.data must hold `);
    expect(error.message).toContain(told);
    expect(error.message).toContain("channels interleaved (not planes)");
  });

  it.each([
    [{ data: RGB, width: 0, height: 2 }, "image.width must be a whole number of at least 1 (pixels), received 0."],
    [{ data: RGB, width: 4, height: 2.5 }, "image.height must be a whole number of at least 1 (pixels), received 2.5."],
    [{ data: RGB, width: "4", height: 2 }, 'image.width must be a whole number of at least 1 (pixels), received "4".'],
    [{ data: RGB, width: 4 }, "image.height must be"],
    [{ data: RGB, ...size, channels: 2 }, "image.channels must be 1 (grey), 3 (RGB) or 4 (RGBA), received 2."],
    [{ data: [...RGB], ...size }, "Convert it: Uint8Array.from(data)."],
    [{ data: new Uint16Array(24), ...size }, "Convert it: Uint8Array.from(data, (value) => value >> 8)."],
    [{ data: new Float64Array(24), ...size }, "Convert it: Float32Array.from(data)."],
    [
      { data: Float32Array.from(RGB), ...size },
      "image.data[1] must be a number from 0 to 1 in a Float32Array, received 37.",
    ],
    [{ data: new Float32Array(24).fill(NaN), ...size }, "image.data[0] must be a number from 0 to 1"],
    [{ data: new Float32Array(24).fill(-0.1), ...size }, "image.data[0] must be a number from 0 to 1"],
  ])("other mistakes name the field: %j", async (input, told) => {
    const error = await failure(readImage(input as ImageInput));
    expect(OptionError.isInstance(error)).toBe(true);
    expect(error.message).toContain(told);
  });
});
