import { beforeAll, describe, expect, it } from "vitest";
import { readImage } from "../../media/image.js";
import { RgbImage } from "../../media/rgb-image.js";
import { resolveVisionModel } from "../../models/vision-model.js";
import { Tokenizer } from "../../text/tokenizer.js";
import { goldenFloats, janusFixture } from "../../testing/janus-fixture.js";
import { visionFixture, visionJson } from "../../testing/vlm-fixtures.js";
import type { OpenedFamily } from "./family.js";
import { familyOf } from "./registry.js";

async function open(folder: string): Promise<OpenedFamily> {
  const source = await resolveVisionModel(folder, { cacheFolder: "" });
  return familyOf(source).open(source, await Tokenizer.fromFolder(source.folder));
}

async function pixelsOf(family: OpenedFamily, image: RgbImage): Promise<{ shape: number[]; data: Float32Array }> {
  const { tensors } = await family.prepare(image);
  expect(tensors).toHaveLength(1);
  return tensors[0] as { shape: number[]; data: Float32Array };
}

/** A picture of one colour but for a darker left half. */
function halves(width: number, height: number): RgbImage {
  const data = new Uint8Array(width * height * 3).fill(200);
  for (let y = 0; y < height; y++) data.fill(40, y * width * 3, (y * width + Math.floor(width / 2)) * 3);
  return new RgbImage(width, height, data);
}

describe("LLaVA 1.5 prepares pictures as CLIPImageProcessor does", () => {
  interface Pixels {
    shape: number[];
    mean: number;
    std: number;
    first: number[];
    last: number[];
  }
  const { cases } = visionJson("vlm/llava-golden.json") as {
    cases: Record<string, { images: string[]; pixel_values?: Pixels }>;
  };
  const single = Object.values(cases).filter(({ images }) => images.length === 1);
  let family: OpenedFamily;
  beforeAll(async () => void (family = await open(visionFixture("vlm/llava-tiny-ir"))));

  it.each(single)("$images", async ({ images, pixel_values }) => {
    const image = await readImage(visionFixture(`vlm/images/${images[0]!}.png`), { alpha: "drop" });
    const { shape, data } = await pixelsOf(family, image);
    const { mean, std, first, last, ...rest } = pixel_values!;
    expect(shape).toEqual(rest.shape);
    // The goldens have six digits; a level is 0.0146.
    first.forEach((value, index) => expect(data[index]).toBeCloseTo(value, 4));
    last.forEach((value, index) => expect(data[data.length - last.length + index]).toBeCloseTo(value, 4));
    const average = data.reduce((sum, value) => sum + value, 0) / data.length;
    expect(average).toBeCloseTo(mean, 5);
    expect(Math.sqrt(data.reduce((sum, value) => sum + (value - average) ** 2, 0) / data.length)).toBeCloseTo(std, 4);
  });

  it.each([
    [1, 1],
    [1, 3000],
    [3000, 1],
    [27, 257],
  ])("takes %i × %i pixels", async (width, height) => {
    const { shape, data } = await pixelsOf(family, halves(width, height));
    expect(shape).toEqual([1, 3, 56, 56]);
    expect(data.every(Number.isFinite)).toBe(true);
  });

  it("keeps the middle of a picture far longer than wide", async () => {
    const { data } = await pixelsOf(family, halves(4000, 10));
    const level = (value: number): number => (value / 255 - 0.48145466) / 0.26862954;
    // Columns 0 to 27 of the crop are the dark half's end.
    expect(data[5]).toBeCloseTo(level(40), 1);
    expect(data[50]).toBeCloseTo(level(200), 1);
    expect(data[27]! + data[28]!).toBeCloseTo(level(40) + level(200), 0);
  });
});

describe.each(["tiny", "tiny-ir"])("Janus prepares pictures as JanusImageProcessor does, %s", (folder) => {
  let family: OpenedFamily;
  beforeAll(async () => void (family = await open(janusFixture(folder))));

  it.each([
    ["a", "goldens/image_a_rgba.png"],
    ["b", "goldens/image_b_exif6.jpg"],
  ])("picture %s", async (name, file) => {
    const { shape, data } = await pixelsOf(family, await readImage(janusFixture(file), { alpha: "drop" }));
    const golden = goldenFloats(`pixel_values_pil_${name}`);
    expect(shape).toEqual([1, ...golden.shape]);
    let worst = 0;
    for (const [index, value] of golden.data.entries()) worst = Math.max(worst, Math.abs(value - data[index]!));
    // A level is 0.0078.
    expect(worst).toBeLessThan(name === "a" ? 1e-5 : 0.0079);
  });

  it.each([
    [1, 1],
    [1, 3000],
    [3000, 1],
    [27, 257],
  ])("takes %i × %i pixels", async (width, height) => {
    const { shape, data } = await pixelsOf(family, halves(width, height));
    expect(shape).toEqual([1, 3, 32, 32]);
    expect(data.every(Number.isFinite)).toBe(true);
    // Padding is the integer grey 127, not 127.5.
    if (width < height) expect(data[0]).toBeCloseTo((127 / 255 - 0.5) / 0.5, 6);
  });
});
