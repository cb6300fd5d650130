import { describe, expect, it } from "vitest";
import { findNonFinite, findNonFiniteHalf, toFloat16, toFloat32 } from "./floats.js";

const half = (value: number): number => toFloat16(Float32Array.of(value))[0]!;
const bytes = (values: NodeJS.TypedArray): Uint8Array => new Uint8Array(values.buffer);

describe("f32 to f16", () => {
  // By hand from IEEE 754: binary16 has 10 bits of fraction, and subnormals below 2^-14.
  it.each([
    [0, 0x0000],
    [-0, 0x8000],
    [1, 0x3c00],
    [-2, 0xc000],
    [1 / 3, 0x3555],
    [65504, 0x7bff],
    [65519, 0x7bff],
    [65520, 0x7c00],
    [1e9, 0x7c00],
    [-Infinity, 0xfc00],
    [2 ** -14, 0x0400],
    [2 ** -24, 0x0001],
    [2 ** -25, 0x0000],
    [2 ** -25 * 1.0001, 0x0001],
    [3 * 2 ** -25, 0x0002],
    [1e-30, 0x0000],
    [-(2 ** -20), 0x8010],
    // Between two values: the even one.
    [1 + 2 ** -11, 0x3c00],
    [1 + 3 * 2 ** -11, 0x3c02],
    [1 + 2 ** -11 + 2 ** -20, 0x3c01],
    // The carry goes into the exponent.
    [2 - 2 ** -12, 0x4000],
    [2 ** -14 - 2 ** -26, 0x0400],
  ])("%d", (value, expected) => expect(half(value)).toBe(expected));

  it("keeps what is no number", () => expect(half(NaN) & 0x7fff).toBeGreaterThan(0x7c00));

  it("gives every f16 value back", () => {
    const all = Uint16Array.from({ length: 65_536 }, (_, bits) => bits).filter((bits) => (bits & 0x7c00) !== 0x7c00);
    expect(toFloat16(toFloat32(bytes(all), "f16"))).toEqual(all);
  });

  it("is as near as any f16 value", () => {
    for (let index = 0; index < 2000; index++) {
      const value = Math.fround(Math.sin(index) * 10 ** ((index % 12) - 8));
      const bits = half(value);
      const distance = (pattern: number): number =>
        Math.abs(toFloat32(bytes(Uint16Array.of(pattern)), "f16")[0]! - value);
      expect(distance(bits)).toBeLessThanOrEqual(
        Math.min(distance(bits + 1), (bits & 0x7fff) > 0 ? distance(bits - 1) : Infinity),
      );
    }
  });
});

describe("to f32", () => {
  it("reads f16, with subnormals, infinity and NaN", () => {
    const values = toFloat32(bytes(Uint16Array.of(0x3c00, 0x0001, 0x83ff, 0x7bff, 0xfc00, 0x7e00)), "f16");
    expect([...values]).toEqual([1, 2 ** -24, -1023 * 2 ** -24, 65504, -Infinity, NaN]);
  });

  it("reads bf16", () => {
    expect([...toFloat32(bytes(Uint16Array.of(0x3f80, 0xc049, 0x0001)), "bf16")]).toEqual([1, -3.140625, 2 ** -133]);
  });

  it("reads f32 from the middle of a buffer", () => {
    const all = bytes(Float32Array.of(1, 2, 3));
    expect([...toFloat32(all.subarray(4), "f32")]).toEqual([2, 3]);
  });
});

it("finds values that are no finite numbers", () => {
  expect(findNonFinite(Float32Array.of(1, -3e38, 0))).toBe(-1);
  expect(findNonFinite(Float32Array.of(1, NaN))).toBe(1);
  expect(findNonFinite(Float32Array.of(-Infinity))).toBe(0);
  expect(findNonFiniteHalf(Uint16Array.of(0x7bff, 0xfbff))).toBe(-1);
  expect(findNonFiniteHalf(Uint16Array.of(0, 0xfc00))).toBe(1);
});
