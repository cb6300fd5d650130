import { describe, expect, it } from "vitest";
import { roundRows } from "./rounding.js";

/** Deterministic values between -1 and 1, few of them near the ends. */
function weights(count: number, scale: number): Float32Array {
  return Float32Array.from({ length: count }, (_, index) => scale * Math.sin(index * 12.9898) ** 5);
}

describe("int8 rows", () => {
  it.each([1, 1e-3, 1e-7, 1e-38, 1e30])("are off by half a scale at most (values around %d)", (size) => {
    const [rows, columns] = [7, 129];
    const values = weights(rows * columns, size);
    const scales = new Float32Array(rows);
    const rounded = roundRows(values, columns, scales, 0);
    values.forEach((value, index) => {
      const scale = scales[Math.floor(index / columns)]!;
      expect(Math.abs(rounded[index]! * scale - value)).toBeLessThanOrEqual(scale * 0.5 * (1 + 1e-5));
    });
  });

  it("use the whole range, symmetric, with zero at zero", () => {
    const scales = new Float32Array(2);
    expect([...roundRows(Float32Array.of(-2, 1, 0, 0.5, 0.25, 0.1), 3, scales, 0)]).toEqual([-127, 64, 0, 127, 64, 25]);
    expect([...scales]).toEqual([Math.fround(2 / 127), Math.fround(0.5 / 127)]);
  });

  it("of zeros stay zeros", () => {
    const scales = new Float32Array(1);
    expect([...roundRows(new Float32Array(4), 4, scales, 0)]).toEqual([0, 0, 0, 0]);
    expect(scales[0]).toBeGreaterThan(0);
  });

  it("are the same whether they come at once or in pieces", () => {
    const values = weights(40, 1);
    const [whole, pieces] = [new Float32Array(4), new Float32Array(4)];
    const atOnce = roundRows(values, 10, whole, 0);
    const first = roundRows(values.slice(0, 10), 10, pieces, 0);
    const rest = roundRows(values.slice(10), 10, pieces, 1);
    expect([...first, ...rest]).toEqual([...atOnce]);
    expect(pieces).toEqual(whole);
  });
});
