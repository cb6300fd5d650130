import { describe, expect, it } from "vitest";
import { MetricsClock } from "./metrics.js";

const TIMINGS = { queueMs: 3, prefillMs: 40, decodeMs: 90, firstTokenMs: 43, preemptions: 0 };

describe("MetricsClock", () => {
  it("derives token times from the engine's", () => {
    const clock = new MetricsClock(123);
    clock.submitted();
    const metrics = clock.finish(10, TIMINGS);
    expect(metrics).toMatchObject({ loadMs: 123, queueMs: 3, tpotMs: 10, tokensPerSecond: 100 });
    expect(metrics.stages).toMatchObject({ prefill: 40, decode: 90 });
    expect(metrics.ttftMs).toBeGreaterThanOrEqual(43);
  });

  it("has no rate for fewer than two tokens, and no NaN", () => {
    expect(new MetricsClock(0).finish(1, TIMINGS)).toMatchObject({ tpotMs: 0, tokensPerSecond: 0 });
    const none = new MetricsClock(0).finish(0);
    expect(none).toMatchObject({ ttftMs: 0, tpotMs: 0, tokensPerSecond: 0, queueMs: 0 });
    expect(JSON.parse(JSON.stringify(none))).toEqual(none);
  });

  it("adds up stages, also of work that fails", async () => {
    const clock = new MetricsClock(0);
    expect(clock.measure("detokenize", () => 5)).toBe(5);
    expect(() => clock.measure("detokenize", () => JSON.parse("{"))).toThrow();
    await clock.measureAsync("tokenize", () => new Promise((resolve) => setTimeout(resolve, 20)));
    const { stages } = clock.finish(0);
    expect(stages.tokenize).toBeGreaterThan(10);
    expect(stages.detokenize).toBeGreaterThan(0);
    expect(stages.encode).toBe(0);
  });
});
