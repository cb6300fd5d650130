import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Path of a file or folder of the tiny Janus model in `test/fixtures/janus`. */
export const janusFixture = (path: string): string =>
  fileURLToPath(new URL(`../../test/fixtures/janus/${path}`, import.meta.url));

/**
 * An array that transformers computed with the tiny model, in f32. All of them lie in `arrays.bin`, little-endian, one after
 * the other; `arrays.json` has their places.
 */
export interface GoldenArray<Data extends Float32Array | Uint8Array> {
  shape: number[];
  data: Data;
}

interface Place {
  type: "f32" | "u8";
  shape: number[];
  /** Bytes. */
  offset: number;
}

let arrays: { places: Record<string, Place>; bytes: Uint8Array<ArrayBuffer> } | undefined;

function find(name: string, type: Place["type"]): { shape: number[]; offset: number; count: number } {
  arrays ??= {
    places: JSON.parse(readFileSync(janusFixture("goldens/arrays.json"), "utf8")) as Record<string, Place>,
    bytes: Uint8Array.from(readFileSync(janusFixture("goldens/arrays.bin"))),
  };
  const place = arrays.places[name];
  if (place?.type !== type) throw new Error(`The goldens have no ${type} array "${name}".`);
  return { ...place, count: place.shape.reduce((product, size) => product * size, 1) };
}

/** An array of floats from the goldens, by its name in `arrays.json`. */
export function goldenFloats(name: string): GoldenArray<Float32Array<ArrayBuffer>> {
  const { shape, offset, count } = find(name, "f32");
  return { shape, data: new Float32Array(arrays!.bytes.buffer, offset, count).slice() };
}

/** An array of bytes (pixels) from the goldens. */
export function goldenBytes(name: string): GoldenArray<Uint8Array<ArrayBuffer>> {
  const { shape, offset, count } = find(name, "u8");
  return { shape, data: arrays!.bytes.slice(offset, offset + count) };
}

/** `goldens.json`: prompts, ids and margins. */
export function janusGoldens(): Record<string, unknown> {
  return JSON.parse(readFileSync(janusFixture("goldens/goldens.json"), "utf8")) as Record<string, unknown>;
}
