import type { ElementType } from "./element-type.js";

const F16_INFINITY = 0x7c00;

let halfTable: Float32Array | undefined;

/** The value of each of the 65,536 half-precision patterns. */
function halfValues(): Float32Array {
  if (halfTable) return halfTable;
  const table = new Float32Array(65_536);
  for (let bits = 0; bits < 65_536; bits++) {
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    const magnitude =
      exponent === 0
        ? fraction * 2 ** -24
        : exponent === 31
          ? fraction === 0
            ? Infinity
            : NaN
          : (1 + fraction / 1024) * 2 ** (exponent - 15);
    table[bits] = bits & 0x8000 ? -magnitude : magnitude;
  }
  halfTable = table;
  return table;
}

/**
 * Reads little-endian floats as f32.
 *
 * @param bytes - its start must lie on a multiple of the element size
 */
export function toFloat32(bytes: Uint8Array, type: ElementType & ("f32" | "f16" | "bf16")): Float32Array {
  if (type === "f32") return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2);
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 1);
  const values = new Float32Array(halves.length);
  if (type === "bf16") {
    // bf16 is the upper half of an f32.
    const bits = new Uint32Array(values.buffer);
    for (let index = 0; index < halves.length; index++) bits[index] = halves[index]! << 16;
    return values;
  }
  const table = halfValues();
  for (let index = 0; index < halves.length; index++) values[index] = table[halves[index]!]!;
  return values;
}

/** Rounds f32 values to f16, to nearest, ties to even. Values beyond ±65,504 become infinite. */
export function toFloat16(values: Float32Array): Uint16Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const halves = new Uint16Array(values.length);
  for (let index = 0; index < bits.length; index++) {
    const word = bits[index]!;
    const sign = (word >>> 16) & 0x8000;
    const magnitude = word & 0x7fffffff;
    let half: number;
    if (magnitude >= 0x47800000) {
      // 65,536 and more, infinity, NaN.
      half = magnitude > 0x7f800000 ? 0x7e00 : F16_INFINITY;
    } else if (magnitude >= 0x38800000) {
      // Normal: the exponent moves from bias 127 to 15; the carry of the rounding may run into it, which is right.
      half = (magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13;
    } else if (magnitude <= 0x33000000) {
      // At most half of the smallest subnormal, 2^-25.
      half = 0;
    } else {
      const shift = 126 - (magnitude >>> 23);
      const fraction = (magnitude & 0x7fffff) | 0x800000;
      half = fraction >>> shift;
      const rest = fraction & ((1 << shift) - 1);
      const tie = 1 << (shift - 1);
      if (rest > tie || (rest === tie && (half & 1) === 1)) half++;
    }
    halves[index] = sign | half;
  }
  return halves;
}

/** Index of the first half-precision pattern that is infinite or not a number; -1 if there is none. */
export function findNonFiniteHalf(halves: Uint16Array): number {
  for (let index = 0; index < halves.length; index++) {
    if ((halves[index]! & F16_INFINITY) === F16_INFINITY) return index;
  }
  return -1;
}

/** Index of the first value that is infinite or not a number; -1 if there is none. */
export function findNonFinite(values: Float32Array): number {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  for (let index = 0; index < bits.length; index++) {
    if ((bits[index]! & 0x7f800000) === 0x7f800000) return index;
  }
  return -1;
}
