import { describe, expect, it } from "vitest";
import { SpeechActivity } from "./activity.js";
import { planWindows } from "./plan-windows.js";

const SPEECH = -25;
const PAUSE = -70;

/** Speech and pauses by their lengths in seconds: negative = pause. */
function plan(...lengths: number[]) {
  const activity = new SpeechActivity();
  for (const length of lengths) {
    const speech = length > 0;
    const step = { level: speech ? SPEECH : PAUSE, speech };
    activity.add(Array.from({ length: Math.round(Math.abs(length) * 50) }, () => step));
  }
  return planWindows(activity).map(({ start, end }) => [Number(start.toFixed(2)), Number(end.toFixed(2))]);
}

describe("planWindows", () => {
  it("takes everything into one window that fits, without the silence around it", () => {
    expect(plan(-2, 5, -1, 5, -3)).toEqual([[1.7, 13.3]]);
  });

  it("cuts in the longest pause that still gives the fewest windows", () => {
    // 40 s: two windows; the pause of 2 s at 20 to 22 is the best place.
    expect(plan(10, -0.5, 9.5, -2, 10, -0.5, 7.5)).toEqual([
      [0, 20.3],
      [21.7, 40],
    ]);
  });

  it("leaves long silences out", () => {
    expect(plan(5, -60, 5)).toEqual([
      [0, 5.3],
      [64.7, 70],
    ]);
  });

  it("cuts in the middle of short pauses: nothing is lost, nothing is in two windows", () => {
    expect(plan(20, -0.4, 20)).toEqual([
      [0, 20.2],
      [20.2, 40.4],
    ]);
  });

  it("cuts speech of more than 30 s where it is weakest", () => {
    const activity = new SpeechActivity();
    const level = (step: number): number => (step === 1100 ? -40 : SPEECH);
    activity.add(Array.from({ length: 2000 }, (_, step) => ({ level: level(step), speech: true })));
    expect(planWindows(activity)).toEqual([
      { start: 0, end: expect.closeTo(22, 1) },
      { start: expect.closeTo(22, 1), end: 40 },
    ]);
  });

  it("keeps windows within 30 s, in order and apart, and covers all speech, whatever comes", () => {
    let state = 7;
    const random = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
    for (let round = 0; round < 50; round++) {
      const lengths = Array.from({ length: 40 }, (_, index) =>
        index % 2 === 0 ? 0.1 + random() * (round % 5 === 0 ? 45 : 12) : -(0.02 + random() * 3),
      );
      const activity = new SpeechActivity();
      for (const length of lengths) {
        const step = { level: length > 0 ? SPEECH : PAUSE, speech: length > 0 };
        activity.add(Array.from({ length: Math.round(Math.abs(length) * 50) }, () => step));
      }
      const windows = planWindows(activity);
      let covered = 0;
      for (const [index, { start, end }] of windows.entries()) {
        expect(end - start).toBeLessThanOrEqual(30.0001);
        expect(end).toBeGreaterThan(start);
        if (index > 0) expect(start).toBeGreaterThanOrEqual(windows[index - 1]!.end - 1e-9);
        covered += activity.speechBetween(start, end);
      }
      // A step at a border may count on both sides.
      const all = activity.speechBetween(0, activity.length * 0.02);
      expect(Math.abs(covered - all)).toBeLessThanOrEqual(0.021 * windows.length);
    }
  });

  it("takes all of a sound that is no speech to the gate: the model decides", () => {
    const activity = new SpeechActivity();
    activity.add(Array.from({ length: 2000 }, () => ({ level: -40, speech: false })));
    expect(planWindows(activity)).toEqual([
      { start: 0, end: 30 },
      { start: 30, end: 40 },
    ]);
  });

  it("finds nothing in silence, and nothing in nothing", () => {
    const activity = new SpeechActivity();
    expect(planWindows(activity)).toEqual([]);
    activity.add(Array.from({ length: 2000 }, () => ({ level: -90, speech: false, silent: true as const })));
    expect(planWindows(activity)).toEqual([]);
  });
});
