import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { OptionError } from "../core/errors.js";
import { imageFixture } from "../testing/image-fixtures.js";
import { type ImageInput, readImage } from "./image.js";
import { imageToJSON, snapshotImage } from "./image-json.js";
import { RgbImage } from "./rgb-image.js";

const BYTES = readFileSync(imageFixture("rgba.png"));
const noise = (length: number) => Uint8Array.from({ length }, (_, index) => (index * 97 + (index >> 3) * 31) % 256);

describe("an image as JSON", () => {
  it.each(["photos/cat.jpg", "/no/such/file.png", "https://example.org/a.png", "data:image/png;base64,AAAA"])(
    "%s stays as it is, and is not read",
    (input) => {
      expect(imageToJSON(input)).toBe(input);
    },
  );

  it("a URL object is its text", () => {
    const url = pathToFileURL(imageFixture("rgb.png"));
    expect(imageToJSON(url)).toBe(url.href);
  });

  it("bytes are a data: URL of their format, and read equal", async () => {
    const around = new Uint8Array(BYTES.length + 10);
    around.set(BYTES, 3);
    for (const input of [BYTES, around.subarray(3, 3 + BYTES.length), new Uint8Array(BYTES).buffer]) {
      const text = imageToJSON(input);
      expect(text).toBe(`data:image/png;base64,${BYTES.toString("base64")}`);
      expect(await readImage(JSON.parse(JSON.stringify(text)) as string)).toEqual(await readImage(BYTES));
    }
    expect(imageToJSON(readFileSync(imageFixture("rgb.jpg")))).toMatch(/^data:image\/jpeg;base64,/);
    expect(imageToJSON(Buffer.from("rubbish"))).toMatch(/^data:application\/octet-stream;base64,/);
  });

  it.each<[string, ImageInput]>([
    ["grey", { data: noise(13 * 7), width: 13, height: 7 }],
    ["RGB", { data: noise(13 * 7 * 3), width: 13, height: 7 }],
    ["RGBA", { data: Uint8ClampedArray.from(noise(13 * 7 * 4)), width: 13, height: 7, channels: 4 }],
    ["floating-point RGB", { data: Float32Array.from(noise(13 * 7 * 3), (v) => v / 255), width: 13, height: 7 }],
    ["an RgbImage", new RgbImage(13, 7, noise(13 * 7 * 3))],
    ["one pixel", { data: Uint8Array.of(1, 2, 3), width: 1, height: 1 }],
  ])("pixels (%s) are a PNG that reads equal, with either alpha", async (_, input) => {
    const text = imageToJSON(input);
    expect(text).toMatch(/^data:image\/png;base64,/);
    expect(await readImage(text, { alpha: "drop" })).toEqual(await readImage(input, { alpha: "drop" }));
    const [file, pixels] = [await readImage(text), await readImage(input)];
    file.data.forEach((level, index) => {
      expect(Math.abs(level - pixels.data[index]!)).toBeLessThanOrEqual(1);
    });
    // Other programs check what sharp might let pass.
    const bytes = Buffer.from(text.slice(text.indexOf(",") + 1), "base64");
    expect((await sharp(bytes, { failOn: "warning" }).stats()).channels.length).toBeGreaterThan(0);
  });

  it("what is no image is refused", () => {
    expect(() => imageToJSON(17 as unknown as string, "messages[1].content[0].image")).toThrow(
      /^messages\[1\]\.content\[0\]\.image must be/,
    );
    expect(() => imageToJSON({ data: new Float32Array(3).fill(2), width: 1, height: 1 })).toThrow(OptionError);
  });
});

describe("a snapshot", () => {
  it("does not change with the caller's memory", async () => {
    const bytes = Buffer.from(BYTES);
    const whole = new Uint8Array(BYTES).buffer;
    const pixels = noise(24);
    const clamped = Uint8ClampedArray.from(noise(24));
    const floats = Float32Array.from(noise(24), (level) => level / 255);
    const size = { width: 4, height: 2 };
    const inputs: ImageInput[] = [
      bytes,
      bytes.subarray(0),
      whole,
      { data: pixels, ...size },
      { data: Buffer.from(pixels.buffer), ...size },
      { data: clamped, ...size },
      { data: floats, ...size },
      new RgbImage(4, 2, pixels),
    ];
    const expected = await Promise.all(inputs.map((input) => readImage(input)));
    const snapshots = inputs.map((input) => snapshotImage(input));
    bytes.fill(0);
    new Uint8Array(whole).fill(0);
    pixels.fill(0);
    clamped.fill(0);
    floats.fill(0);
    expect(await Promise.all(snapshots.map((snapshot) => readImage(snapshot)))).toEqual(expected);
    expect(snapshots.at(-1)).toBeInstanceOf(RgbImage);
  });

  it("leaves paths and URLs alone, and refuses what is no image", () => {
    expect(snapshotImage("a.png")).toBe("a.png");
    expect(snapshotImage(new URL("https://example.org/a.png"))).toBe("https://example.org/a.png");
    expect(() => snapshotImage({} as unknown as string, "image")).toThrow(OptionError);
    expect(() => snapshotImage({ data: new Uint8Array(5), width: 1, height: 1 }, "p")).toThrow(/^p\.data must hold/);
  });
});
