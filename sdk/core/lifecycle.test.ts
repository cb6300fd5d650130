import { describe, expect, it } from "vitest";
import { DisposedError } from "./errors.js";
import { Lifecycle } from "./lifecycle.js";

function work() {
  let settle!: () => void;
  const reasons: DisposedError[] = [];
  const ended = new Promise<void>((resolve) => (settle = resolve));
  return { end: (reason: DisposedError) => void reasons.push(reason), ended, reasons, settle };
}

describe("Lifecycle", () => {
  it("ends running work, waits for it, then releases once", async () => {
    const order: string[] = [];
    const lifecycle = new Lifecycle("LLMPipeline", async () => void order.push("released"));
    const first = work();
    lifecycle.track(first);
    const disposing = lifecycle.dispose();
    expect(lifecycle.dispose()).toBe(disposing);
    expect(first.reasons[0]).toBeInstanceOf(DisposedError);
    await Promise.resolve();
    expect(order).toEqual([]);
    order.push("ended");
    first.settle();
    await disposing;
    await lifecycle.dispose();
    expect(order).toEqual(["ended", "released"]);
    expect(lifecycle.running).toBe(0);
  });

  it("refuses use afterwards, naming the class and the action", async () => {
    const lifecycle = new Lifecycle("LLMPipeline", () => Promise.resolve());
    lifecycle.assertUsable("generate");
    await lifecycle.dispose();
    expect(() => lifecycle.assertUsable("generate")).toThrow(/Cannot generate: this LLMPipeline was disposed/);
  });

  it("forgets work that ended, also by failing", async () => {
    const lifecycle = new Lifecycle("LLMPipeline", () => Promise.resolve());
    const fine = work();
    lifecycle.track(fine);
    lifecycle.track({ end: () => undefined, ended: Promise.reject(new Error("failed")) });
    expect(lifecycle.running).toBe(2);
    fine.settle();
    await new Promise((resolve) => setImmediate(resolve));
    expect(lifecycle.running).toBe(0);
  });

  it("waits for work that registers while winding down", async () => {
    const lifecycle = new Lifecycle("LLMPipeline", () => Promise.resolve());
    const second = work();
    const first = work();
    lifecycle.track({
      end: () => {
        lifecycle.track(second);
        first.settle();
      },
      ended: first.ended,
    });
    let disposed = false;
    const disposing = lifecycle.dispose().then(() => (disposed = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(second.reasons).toHaveLength(1);
    expect(disposed).toBe(false);
    second.settle();
    await disposing;
  });
});
