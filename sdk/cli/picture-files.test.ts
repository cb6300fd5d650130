import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RgbImage } from "../index.js";
import { UsageError } from "./exit-codes.js";
import { nameFor, PictureFiles } from "./picture-files.js";

let folder: string;
beforeEach(async () => (folder = await mkdtemp(path.join(tmpdir(), "pergola-pictures-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

const pictures = (count: number): RgbImage[] =>
  Array.from({ length: count }, (_, index) => new RgbImage(1, 1, Uint8Array.of(index, 0, 0)));
const inFolder = (name: string): string => path.join(folder, name);

async function save(out: string, count: number): Promise<string[]> {
  const files = await PictureFiles.plan(out, "A red bicycle");
  return (await files.save(pictures(count))).map((file) => path.relative(folder, file));
}

describe("a file name", () => {
  it.each(["bike.png", "bike.JPG", "bike.jpeg", "new/deep/bike.webp"])("%s is written", async (name) => {
    expect(await save(inFolder(name), 1)).toEqual([name]);
    expect(await readdir(path.dirname(inFolder(name)))).toEqual([path.basename(name)]);
  });

  it("of several pictures gets numbers", async () => {
    expect(await save(inFolder("bike.png"), 3)).toEqual(["bike-1.png", "bike-2.png", "bike-3.png"]);
  });

  it("is replaced, as by other programs", async () => {
    await writeFile(inFolder("bike.png"), "old");
    expect(await save(inFolder("bike.png"), 1)).toEqual(["bike.png"]);
    expect(await readdir(folder)).toEqual(["bike.png"]);
  });

  it.each(["bike.gif", "bike", "bike.png.txt"])("%s tells no format", async (name) => {
    await expect(PictureFiles.plan(inFolder(name), "x")).rejects.toThrow(UsageError);
  });
});

describe("a folder", () => {
  it("gets files named after the prompt; what is there is kept", async () => {
    expect(await save(folder, 1)).toEqual(["a-red-bicycle.png"]);
    expect(await save(folder, 1)).toEqual(["a-red-bicycle-2.png"]);
    expect(await save(folder, 1)).toEqual(["a-red-bicycle-3.png"]);
    expect(await save(folder, 2)).toEqual(["a-red-bicycle-4.png", "a-red-bicycle-5.png"]);
    await writeFile(inFolder("a-red-bicycle-7.png"), "mine");
    expect(await save(folder, 2)).toEqual(["a-red-bicycle-8.png", "a-red-bicycle-9.png"]);
  });

  it("is made where its name ends in a slash", async () => {
    expect(await save(inFolder("made/"), 2)).toEqual(["made/a-red-bicycle-1.png", "made/a-red-bicycle-2.png"]);
  });
});

it("previews stand beside and are taken away", async () => {
  const files = await PictureFiles.plan(inFolder("bike.webp"), "");
  await files.savePreviews(pictures(2));
  await files.savePreviews(pictures(2));
  expect((await readdir(folder)).toSorted()).toEqual(["bike-1.preview.webp", "bike-2.preview.webp"]);
  await files.removePreviews();
  expect(await readdir(folder)).toEqual([]);
});

it.each([
  ["A red bicycle, please!", "a-red-bicycle-please"],
  ["Ein Fahrrad für Ömer", "ein-fahrrad-für-ömer"],
  ["赤い自転車", "赤い自転車"],
  ["../../etc/passwd", "etc-passwd"],
  ["🚲", "picture"],
  ["", "picture"],
  ["word ".repeat(5000), `${"word-".repeat(11)}word`],
  ["x".repeat(300), "picture"],
])("%j is called %s", (prompt, name) => expect(nameFor(prompt)).toBe(name));
