import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import wabt from "wabt";
import { toFloat16, toFloat32 } from "../read/floats.js";
import { KERNEL_BINARY, RoundingKernel } from "./rounding-kernel.js";
import { roundGroups, roundRows, STEPS } from "./rounding.js";

it("is what rounding-kernel.wat says (if this fails, put the received text into rounding-kernel.ts)", async () => {
  const source = readFileSync(new URL("rounding-kernel.wat", import.meta.url), "utf8");
  const module = (await wabt()).parseWat("rounding-kernel.wat", source, { simd: true });
  expect(Buffer.from(module.toBinary({}).buffer).toString("base64")).toBe(KERNEL_BINARY);
});

/** Reproducible numbers from 0 to 1. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Bell-shaped values, as weights are. */
function weights(count: number, deviation: number, seed = 1): Float32Array {
  const next = random(seed);
  const bell = (): number => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  return Float32Array.from({ length: count }, () => bell() * deviation);
}

function bytesOf(values: NodeJS.TypedArray): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

function loaded(values: Float32Array): RoundingKernel {
  const kernel = new RoundingKernel();
  expect(kernel.load(bytesOf(values), "f32")).toBe(true);
  return kernel;
}

describe("widening", () => {
  it("reads every f16 and bf16 pattern that is a number as the plain code does", () => {
    const patterns = Uint16Array.from({ length: 65_536 }, (_, index) => index);
    for (const [type, mask] of [
      ["f16", 0x7c00],
      ["bf16", 0x7f80],
    ] as const) {
      const finite = patterns.filter((bits) => (bits & mask) !== mask);
      const kernel = new RoundingKernel();
      expect(kernel.load(bytesOf(finite), type)).toBe(true);
      expect(kernel.floats()).toEqual(toFloat32(bytesOf(finite), type));
    }
  });

  it.each([
    ["f16", 0x7c00],
    ["f16", 0xfc00],
    ["f16", 0x7e01],
    ["bf16", 0x7f80],
    ["bf16", 0xff81],
  ] as const)("finds an %s that is no number (%i)", (type, bits) => {
    for (const at of [0, 7, 13]) {
      const values = new Uint16Array(16);
      values[at] = bits;
      expect(new RoundingKernel().load(bytesOf(values), type)).toBe(false);
    }
  });
});

describe("half precision", () => {
  it("is rounded as the plain code does", () => {
    const edges = [
      0,
      -0,
      1,
      65_504,
      -65_519.9,
      2 ** -14,
      2 ** -24,
      2 ** -25,
      1.5 * 2 ** -25,
      3 * 2 ** -25,
      1 + 2 ** -11,
      1 + 3 * 2 ** -11,
    ];
    const values = Float32Array.from([...edges, ...weights(4084, 0.02), ...weights(4096, 2e-6, 2)]);
    expect(loaded(values).halves()).toEqual(toFloat16(values));
  });

  it("makes what is too large infinite", () => {
    expect([
      ...loaded(Float32Array.of(65_520, -1e9, 65_519, 0, 0, 0, 0, 0))
        .halves()
        .subarray(0, 3),
    ]).toEqual([0x7c00, 0xfc00, 0x7bff]);
  });
});

describe("int8 rows", () => {
  it.each([1, 1e-5, 1e-38, 1e30])("are those of the plain code (values around %d)", (size) => {
    const values = weights(40 * 72, size);
    values.fill(0, 72, 144);
    expect(loaded(values).rows(72)).toEqual(roundRows(values, 72));
  });
});

describe("int4 groups", () => {
  it.each([8, 32, 64, 128])("of %i are as good as those of the plain code", (group) => {
    const values = weights(group * 200, 0.02);
    values.fill(0, group, 2 * group);
    const [made, plain] = [loaded(values).groups(group, STEPS), roundGroups(values, group)];
    // Sums in another order may choose another step where two are as good.
    expect(errorOf(values, made, group)).toBeLessThan(errorOf(values, plain, group) * 1.0005);
    const different = made.packed.filter((byte, index) => byte !== plain.packed[index]).length;
    expect(different).toBeLessThan(made.packed.length * 0.02);
  });

  it("takes more values after fewer, and fewer after more", () => {
    const kernel = new RoundingKernel();
    for (const count of [64, 262_144, 128]) {
      const values = weights(count, 1, count);
      kernel.load(bytesOf(values), "f32");
      expect(kernel.rows(64)).toEqual(roundRows(values, 64));
    }
  });
});

function errorOf(
  values: Float32Array,
  { packed, scales }: { packed: Uint8Array; scales: Float32Array },
  group: number,
): number {
  return values.reduce((sum, value, index) => {
    const half = index % 2 === 0 ? packed[index >> 1]! & 15 : packed[index >> 1]! >> 4;
    const whole = half > 7 ? half - 16 : half;
    return sum + value ** 2 * (value - whole * scales[Math.floor(index / group)]!) ** 2;
  }, 0);
}
