import { describe, expect, it } from "vitest";
import { failureOf, turns } from "../testing/fake-harness.js";
import { FeatureCache, type Features } from "./feature-cache.js";

const features = (bytes: number): Features => ({
  layout: { text: () => "", runs: [1] },
  rows: new Float32Array(bytes / 4),
});
const FOREVER = new AbortController().signal;

/** Work that ends when it is told to. */
function work() {
  let resolve!: (features: Features) => void;
  let reject!: (reason: Error) => void;
  const made = new Promise<Features>((...settle) => ([resolve, reject] = settle));
  const state = { runs: 0, ended: false };
  const make = async (ends: AbortSignal): Promise<Features> => {
    state.runs++;
    const aborted = new Promise<never>((_, reject) => {
      // As an encoder does: it ends a little later.
      ends.addEventListener("abort", () => setImmediate(() => reject(ends.reason as Error)));
    });
    try {
      return await Promise.race([made, aborted]);
    } finally {
      state.ended = true;
    }
  };
  return { resolve, reject, state, make };
}

describe("FeatureCache", () => {
  it("keeps what was used last, up to its bytes", async () => {
    const cache = new FeatureCache(100);
    const put = (key: string, bytes: number) => cache.make(key, FOREVER, async () => features(bytes));
    await put("a", 40);
    await put("b", 40);
    expect(cache.get("a")).toBeDefined();
    await put("c", 40);
    expect([cache.get("a"), cache.get("b"), cache.get("c")].map(Boolean)).toEqual([true, false, true]);
    expect(cache.bytes).toBe(80);
    await put("large", 104);
    expect(cache.get("large")).toBeUndefined();
    expect(cache.bytes).toBe(80);
    await put("whole", 100);
    expect([cache.get("a"), cache.get("c"), cache.get("whole")].map(Boolean)).toEqual([false, false, true]);
  });

  it("makes features once for all who ask at the same time", async () => {
    const cache = new FeatureCache(0);
    const { make, state, resolve } = work();
    const asked = [1, 2, 3].map(() => cache.make("a", FOREVER, make));
    const made = features(4);
    resolve(made);
    expect(await Promise.all(asked)).toEqual([made, made, made]);
    expect(state.runs).toBe(1);
    // With no room nothing is kept.
    await cache.make("a", FOREVER, async () => made);
    expect(cache.get("a")).toBeUndefined();
  });

  it("goes on while somebody waits, and ends when nobody does", async () => {
    const cache = new FeatureCache(100);
    const { make, state } = work();
    const [first, second] = [new AbortController(), new AbortController()];
    const one = failureOf(() => cache.make("a", first.signal, make));
    const two = failureOf(() => cache.make("a", second.signal, make));
    await turns(1);
    first.abort("first");
    expect(await one).toBe("first");
    expect(state.ended).toBe(false);
    second.abort("second");
    expect(await two).toBe("second");
    expect(state.ended).toBe(true);
    expect(cache.get("a")).toBeUndefined();
    // Somebody who comes while the old work ends gets new work.
    const later = work();
    const asked = cache.make("a", FOREVER, later.make);
    later.resolve(features(4));
    await asked;
    expect(later.state.runs).toBe(1);
  });

  it("starts anew for somebody who comes while abandoned work ends", async () => {
    const cache = new FeatureCache(100);
    const [old, fresh] = [work(), work()];
    const controller = new AbortController();
    const left = failureOf(() => cache.make("a", controller.signal, old.make));
    controller.abort();
    // Told to end, but not ended yet.
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    expect(old.state.ended).toBe(false);
    const asked = cache.make("a", FOREVER, fresh.make);
    fresh.resolve(features(8));
    expect((await asked).rows).toHaveLength(2);
    await left;
    expect(cache.get("a")?.rows).toHaveLength(2);
  });

  it("tells failures to all, and tries again afterwards", async () => {
    const cache = new FeatureCache(100);
    const { make, reject } = work();
    const failures = [1, 2].map(() => failureOf(() => cache.make("a", FOREVER, make)));
    const reason = new Error("broken");
    reject(reason);
    expect(await Promise.all(failures)).toEqual([reason, reason]);
    expect((await cache.make("a", FOREVER, async () => features(4))).rows).toHaveLength(1);
  });

  it("does nothing for a call that has ended", async () => {
    const cache = new FeatureCache(100);
    const { make, state } = work();
    expect(await failureOf(() => cache.make("a", AbortSignal.abort("over"), make))).toBe("over");
    expect(state.runs).toBe(0);
  });
});
