import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { setNativeForTesting } from "../sdk/core/native.js";
import { judge } from "./fuzz/judge.js";
import { mutation } from "./fuzz/mutations.js";
import { regressionsOf, seedsOf, TARGETS } from "./fuzz/targets.js";

// A few inputs of what `npm run fuzz` tries for an hour, always the same ones, and all that it has found.

const ROUNDS = 60;
const SEED = 1_000;

afterAll(() => setNativeForTesting(undefined));

describe.each(Object.keys(TARGETS))("%s", (name) => {
  const target = TARGETS[name]!;

  it("has seeds, some of which can be read", { timeout: 60_000 }, async () => {
    const seeds = seedsOf(name);
    expect(seeds.length).toBeGreaterThan(0);
    const read: boolean[] = [];
    // One after the other: they share a file.
    for (const bytes of seeds) {
      const result = target.read(bytes);
      read.push(
        await result.then(
          () => true,
          () => false,
        ),
      );
    }
    expect(read).toContain(true);
  });

  it("ends with a result or a typed error", { timeout: 60_000 }, async () => {
    const seeds = seedsOf(name);
    for (let seed = SEED; seed < SEED + (target.rounds ?? ROUNDS); seed++) {
      const fault = await judge(target, mutation(seeds, seed));
      expect(fault, `seed ${seed}: ${fault}`).toBeUndefined();
    }
  });

  it.each(regressionsOf(name))("%s is dealt with", { timeout: 60_000 }, async (file) => {
    expect(await judge(target, readFileSync(file))).toBeUndefined();
  });
});

it("judges: another exception is a fault, a typed error is none", async () => {
  expect(await judge({ read: () => Promise.reject(new TypeError("x is undefined")) }, Buffer.of())).toContain(
    "TypeError",
  );
  expect(await judge(TARGETS["safetensors"]!, Buffer.of(1, 2))).toBeUndefined();
});
