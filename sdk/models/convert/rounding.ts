import { toFloat16 } from "./floats.js";

const LARGEST = 127;

/**
 * Rounds rows to int8, symmetric: each row has one scale, the largest magnitude is ±127, zero stays zero. A value is off by
 * half a scale at most.
 *
 * @param values - whole rows
 * @param scales - receives the scale of each row, from `firstRow` on
 */
export function roundRows(values: Float32Array, rowLength: number, scales: Float32Array, firstRow: number): Int8Array {
  const rounded = new Int8Array(values.length);
  for (let start = 0, row = firstRow; start < values.length; start += rowLength, row++) {
    const end = start + rowLength;
    let largest = 0;
    for (let index = start; index < end; index++) {
      const magnitude = Math.abs(values[index]!);
      if (magnitude > largest) largest = magnitude;
    }
    // Rounded to f32 first, so that values are divided by what they will be multiplied with. A row of zeros may have any scale.
    const scale = (scales[row] = largest === 0 ? 1 : largest / LARGEST);
    const inverse = 1 / Math.fround(scale);
    for (let index = start; index < end; index++) {
      const scaled = values[index]! * inverse;
      // Half away from zero; the clamp is for a scale that f32 rounded down.
      const whole = scaled < 0 ? -Math.floor(0.5 - scaled) : Math.floor(scaled + 0.5);
      rounded[index] = whole > LARGEST ? LARGEST : whole < -LARGEST ? -LARGEST : whole;
    }
  }
  return rounded;
}

/** Groups of values rounded to 4 bits. */
export interface RoundedGroups {
  /** Two values a byte, the first in the lower half. */
  packed: Uint8Array;
  /** One a group, in half precision. */
  scales: Uint16Array;
}

/** Steps that the largest magnitude of a group is tried at: beyond 8 it is cut, so that the many small values come out finer. */
const STEPS = [7.5, 8, 8.5, 9, 9.5];

/**
 * Rounds groups to int4, symmetric: values are a scale times -8 to 7. The scale, which may be negative, is chosen to make the sum of
 * the squared errors of the group small: several are tried, and for the values that each gives the best scale is computed
 * (Σxq / Σq²).
 *
 * @param group - values in a group; even, and `values` holds whole groups
 */
export function roundGroups(values: Float32Array, group: number): RoundedGroups {
  const packed = new Uint8Array(values.length / 2);
  const scales = new Float32Array(values.length / group);
  for (let start = 0, at = 0; start < values.length; start += group, at++) {
    const end = start + group;
    let extreme = 0;
    for (let index = start; index < end; index++) {
      const value = values[index]!;
      if (Math.abs(value) > Math.abs(extreme)) extreme = value;
    }
    if (extreme === 0) {
      scales[at] = 1;
      continue;
    }
    let [best, bestInverse] = [-1, 0];
    for (const step of STEPS) {
      const inverse = -step / extreme;
      let [products, squares] = [0, 0];
      for (let index = start; index < end; index++) {
        const whole = nearest4(values[index]! * inverse);
        products += values[index]! * whole;
        squares += whole * whole;
      }
      // What the best scale takes off the sum of squares.
      const gain = (products * products) / squares;
      if (gain > best) {
        [best, bestInverse] = [gain, inverse];
        scales[at] = products / squares;
      }
    }
    for (let index = start; index < end; index += 2) {
      const [low, high] = [nearest4(values[index]! * bestInverse), nearest4(values[index + 1]! * bestInverse)];
      packed[index >> 1] = (low & 15) | ((high & 15) << 4);
    }
  }
  return { packed, scales: toFloat16(scales) };
}

function nearest4(value: number): number {
  const whole = value < 0 ? Math.ceil(value - 0.5) : Math.floor(value + 0.5);
  return whole > 7 ? 7 : whole < -8 ? -8 : whole;
}
