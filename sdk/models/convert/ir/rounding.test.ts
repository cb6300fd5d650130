import { describe, expect, it } from "vitest";
import { roundGroups, roundRows } from "./rounding.js";

/** Deterministic values between -1 and 1, few of them near the ends. */
function weights(count: number, scale: number): Float32Array {
  return Float32Array.from({ length: count }, (_, index) => scale * Math.sin(index * 12.9898) ** 5);
}

/** Values of int4 as they are stored. */
function unpacked(packed: Uint8Array): number[] {
  const signed = (half: number): number => (half > 7 ? half - 16 : half);
  return [...packed].flatMap((byte) => [signed(byte & 15), signed(byte >> 4)]);
}

/** √(Σx²(x - sq)² / Σx⁴). */
function relativeError(values: Float32Array, whole: number[], scales: Float32Array, group: number): number {
  let [errors, squares] = [0, 0];
  values.forEach((value, index) => {
    errors += value ** 2 * (value - whole[index]! * scales[Math.floor(index / group)]!) ** 2;
    squares += value ** 4;
  });
  return Math.sqrt(errors / squares);
}

describe("int8 rows", () => {
  it.each([1, 1e-3, 1e-7, 1e-38, 1e30])("are off by half a scale at most (values around %d)", (size) => {
    const [rows, columns] = [7, 129];
    const values = weights(rows * columns, size);
    const { rounded, scales } = roundRows(values, columns);
    values.forEach((value, index) => {
      const scale = scales[Math.floor(index / columns)]!;
      expect(Math.abs(rounded[index]! * scale - value)).toBeLessThanOrEqual(scale * 0.5 * (1 + 1e-5));
    });
  });

  it("use the whole range, symmetric, with zero at zero", () => {
    const { rounded, scales } = roundRows(Float32Array.of(-2, 1, 0, 0.5, 0.25, 0.1), 3);
    expect([...rounded]).toEqual([-127, 64, 0, 127, 64, 25]);
    expect([...scales]).toEqual([Math.fround(2 / 127), Math.fround(0.5 / 127)]);
  });

  it("of zeros stay zeros", () => {
    const { rounded, scales } = roundRows(new Float32Array(4), 4);
    expect([...rounded]).toEqual([0, 0, 0, 0]);
    expect(scales[0]).toBeGreaterThan(0);
  });
});

describe("int4 groups", () => {
  it("of whole numbers from -8 to 7 stay as they are, in the order of the nibbles", () => {
    const values = Float32Array.of(-8, 7, 3, -1, 0, 5, -6, 2);
    const { packed, scales } = roundGroups(values, 8);
    expect(unpacked(packed)).toEqual([...values]);
    expect([...packed.subarray(0, 2)]).toEqual([0x78, 0xf3]);
    expect(scales[0]).toBe(1);
  });

  it("with the largest value above zero have a negative scale, and use -8", () => {
    const values = Float32Array.of(8, -7, -3, 1, 0, -5, 6, -2);
    const { packed, scales } = roundGroups(values, 8);
    expect(scales[0]).toBe(-1);
    expect(unpacked(packed)[0]).toBe(-8);
  });

  it("are closer than one scale from the extreme makes them, by the same measure for every group", () => {
    const group = 64;
    const values = weights(group * 40, 0.3);
    const { packed, scales } = roundGroups(values, group);
    const whole = unpacked(packed);
    for (let start = 0; start < values.length; start += group) {
      const own = values.subarray(start, start + group);
      const extreme = own.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
      const plain = -extreme / 8;
      const plainWhole = Array.from(own, (value) => Math.max(-8, Math.min(7, Math.round(value / plain))));
      const at = start / group;
      const error = relativeError(own, whole.slice(start, start + group), scales.subarray(at, at + 1), group);
      expect(error).toBeLessThanOrEqual(relativeError(own, plainWhole, Float32Array.of(plain), group) * (1 + 1e-6));
    }
  });

  it("have the scale with the smallest error for their whole numbers", () => {
    const group = 32;
    const values = weights(group * 10, 2);
    const { packed, scales } = roundGroups(values, group);
    const whole = unpacked(packed);
    const error = relativeError(values, whole, scales, group);
    for (const factor of [0.99, 1.01]) {
      const changed = scales.map((scale) => scale * factor);
      expect(relativeError(values, whole, changed, group)).toBeGreaterThan(error);
    }
  });

  it("of zeros, or of what half precision takes for zero, are zeros", () => {
    expect([...roundGroups(new Float32Array(8), 8).packed]).toEqual([0, 0, 0, 0]);
    expect([...roundGroups(new Float32Array(8).fill(1e-9), 8).packed]).toEqual([0, 0, 0, 0]);
  });
});
