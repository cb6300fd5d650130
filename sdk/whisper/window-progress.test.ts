import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RunContext } from "./run-context.js";
import { ProgressTeller } from "./transcription-progress.js";
import type { TranscriptionProgress } from "./whisper-options.js";
import { tellOnTheWay } from "./window-progress.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A decoder that takes 20 steps in each tenth of a second, for so many of them. */
async function decoding(tenths: number, onSeconds: (seconds: number) => void, ending?: "stop"): Promise<string> {
  const engine = { steps: 1000, ending };
  const context = { engine, onSeconds } as unknown as RunContext;
  const told = tellOnTheWay(context, [3000, 6000], async () => {
    for (let tenth = 0; tenth < tenths; tenth++) {
      engine.steps += 20;
      await vi.advanceTimersByTimeAsync(100);
    }
    return "text";
  });
  return told;
}

describe("progress within a window", () => {
  it("grows with the decoder's steps and stays within the window", async () => {
    const seconds: number[] = [];
    expect(await decoding(11, (done) => seconds.push(done))).toBe("text");
    expect(seconds).toHaveLength(11);
    expect(seconds).toEqual(seconds.toSorted((a, b) => a - b));
    expect(new Set(seconds).size).toBe(11);
    expect(seconds[0]).toBeGreaterThan(30);
    expect(seconds.at(-1)).toBeGreaterThan(50);
    expect(seconds.at(-1)).toBeLessThan(60);
  });

  it("never goes back where a window is done with less than was expected", async () => {
    const told: TranscriptionProgress[] = [];
    const teller = new ProgressTeller((progress) => told.push(progress));
    await decoding(11, (seconds) => teller.speech(seconds, 90));
    teller.speech(42, 90);
    teller.speech(90, 90);
    for (const name of ["seconds", "fraction"] as const) {
      const values = told.map((progress) => progress[name]);
      expect(values).toEqual(values.toSorted((a, b) => a - b));
    }
    expect(told.at(-1)).toMatchObject({ seconds: 90, fraction: 1 });
  });

  it("what the listener throws ends the call once the work has ended, and it is not told again", async () => {
    const listener = vi.fn(() => {
      throw new Error("enough");
    });
    await expect(decoding(5, listener)).rejects.toThrow("enough");
    expect(listener).toHaveBeenCalledTimes(1);
  });

  it("says nothing once the call is ended", async () => {
    const listener = vi.fn();
    await decoding(5, listener, "stop");
    expect(listener).not.toHaveBeenCalled();
  });
});
