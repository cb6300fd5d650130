import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { RgbImage } from "../media/rgb-image.js";

/** Path of a picture in `test/fixtures/images`, made by the script there. */
export function imageFixture(name: string): string {
  return fileURLToPath(new URL(`../../test/fixtures/images/${name}`, import.meta.url));
}

/** What Pillow reads in one of the pictures. */
export interface ExpectedImage {
  width: number;
  height: number;
  /** RGB, transparency dropped. */
  drop: Uint8Array;
  /** RGB, transparency over white. */
  flatten: Uint8Array;
}

/** `rgb.png` as Pillow resizes it. */
export interface ExpectedResize {
  width: number;
  height: number;
  filter: "bilinear" | "bicubic" | "lanczos";
  data: Uint8Array;
}

interface StoredImage {
  width: number;
  height: number;
  drop: string;
  flatten?: string;
}

interface StoredExpectations {
  files: Record<string, StoredImage>;
  resized: (Omit<ExpectedResize, "data"> & { data: string })[];
}

/** All pictures with what Pillow reads in them. */
export function expectedImages(): Map<string, ExpectedImage> {
  return new Map(
    Object.entries(stored().files).map(([name, { width, height, drop, flatten }]) => [
      name,
      { width, height, drop: bytesOf(drop), flatten: bytesOf(flatten ?? drop) },
    ]),
  );
}

/** What Pillow makes of `rgb.png` in other sizes. */
export function expectedResizes(): ExpectedResize[] {
  return stored().resized.map((one) => ({ ...one, data: bytesOf(one.data) }));
}

function stored(): StoredExpectations {
  return JSON.parse(readFileSync(imageFixture("expected.json"), "utf8")) as StoredExpectations;
}

function bytesOf(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, "base64"));
}

/** Greatest difference between two images of one size, in levels; infinite when they are not of one length. */
export function difference(actual: Uint8Array, expected: Uint8Array): number {
  if (actual.length !== expected.length) return Infinity;
  return actual.reduce((most, level, index) => Math.max(most, Math.abs(level - expected[index]!)), 0);
}

/** R, G, B at a place. */
export function pixelAt(image: RgbImage, x: number, y: number): number[] {
  const at = (y * image.width + x) * 3;
  return [...image.data.subarray(at, at + 3)];
}
