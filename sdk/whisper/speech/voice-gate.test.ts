import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { openAudio } from "../../media/audio.js";
import { babble, joined, silence } from "../../testing/whisper-fixture.js";
import { SpeechActivity } from "./activity.js";
import { VoiceGate, type GateStep } from "./voice-gate.js";

/** White noise whose values are the same in every run. */
function noise(seconds: number, loudness: number): Float32Array {
  let state = 1;
  return Float32Array.from({ length: Math.round(seconds * 16_000) }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return loudness * ((state / 2_147_483_648) * 2 - 1);
  });
}

function mixed(a: Float32Array, b: Float32Array): Float32Array {
  return a.map((value, index) => value + b[index]!);
}

/** Share of steps between two times that the gate takes for speech. */
function share(steps: readonly GateStep[], from: number, to: number): number {
  const part = steps.slice(Math.round(from / 0.02), Math.round(to / 0.02));
  return part.filter(({ speech }) => speech).length / part.length;
}

describe("VoiceGate", () => {
  it("finds speech between silences", () => {
    const steps = new VoiceGate().push(joined(silence(1), babble(2), silence(1), babble(1)));
    expect(steps).toHaveLength(250);
    expect(share(steps, 0, 1)).toBe(0);
    expect(share(steps, 1.1, 2.95)).toBe(1);
    expect(share(steps, 3.3, 4)).toBe(0);
    expect(share(steps, 4.1, 5)).toBeGreaterThan(0.8);
  });

  it("finds it in noise, whose level it learns", () => {
    const speech = joined(silence(4), babble(2, 0.2), silence(3), babble(2, 0.2), silence(1));
    const steps = new VoiceGate().push(mixed(speech, noise(12, 0.01)));
    expect(share(steps, 3, 4)).toBe(0);
    expect(share(steps, 4.1, 5.9)).toBeGreaterThan(0.95);
    expect(share(steps, 6.5, 9)).toBe(0);
    expect(share(steps, 9.1, 10.9)).toBeGreaterThan(0.95);
  });

  it("hears somebody who speaks from the first moment on", () => {
    const steps = new VoiceGate().push(joined(babble(2), silence(1)));
    expect(share(steps, 0, 2)).toBeGreaterThan(0.95);
    expect(share(steps, 2.3, 3)).toBe(0);
  });

  it.each([
    ["silence", silence(10)],
    ["faint noise", noise(10, 0.001)],
    ["loud noise", noise(10, 0.1)],
    [
      "a tone",
      Float32Array.from({ length: 160_000 }, (_, index) => 0.3 * Math.sin((index * 2 * Math.PI * 440) / 16_000)),
    ],
    [
      "hum of 50 Hz",
      Float32Array.from({ length: 160_000 }, (_, index) => 0.3 * Math.sin((index * 2 * Math.PI * 50) / 16_000)),
    ],
  ])("%s is no speech, after 3 s at the latest", (_, samples) => {
    expect(share(new VoiceGate().push(samples), 3.1, 10)).toBe(0);
  });

  it("does not depend on how the audio is cut into pieces", () => {
    const audio = joined(silence(0.5), babble(1), silence(0.5));
    const whole = new VoiceGate().push(audio);
    const gate = new VoiceGate();
    const pieces: GateStep[] = [];
    for (let at = 0; at < audio.length; at += 777) pieces.push(...gate.push(audio.subarray(at, at + 777)));
    expect(pieces).toEqual(whole);
  });

  it("digital silence says nothing about the noise", () => {
    const steps = new VoiceGate().push(joined(silence(1), noise(6, 0.003), mixed(babble(1, 0.1), noise(1, 0.003))));
    expect(share(steps, 4.5, 7)).toBe(0);
    expect(share(steps, 7.1, 8)).toBeGreaterThan(0.9);
  });

  it("finds the pauses of a spoken recording", async () => {
    const path = fileURLToPath(new URL("../../../test/fixtures/whisper/audio/say-en-3.wav", import.meta.url));
    expect(readFileSync(path).length).toBeGreaterThan(1000);
    const gate = new VoiceGate();
    const steps: GateStep[] = [];
    for await (const piece of await openAudio(path)) steps.push(...gate.push(piece));
    // "My telephone number is 555 1234" — pause — "Thank you very much for your help", with digital silence between.
    const speech = share(steps, 0, steps.length * 0.02);
    expect(speech).toBeGreaterThan(0.5);
    expect(speech).toBeLessThan(0.95);
  });
});

describe("SpeechActivity", () => {
  function heard(...parts: Float32Array[]): SpeechActivity {
    const activity = new SpeechActivity();
    activity.add(new VoiceGate().push(joined(...parts)));
    return activity;
  }

  it("counts speech between two times", () => {
    const activity = heard(silence(1), babble(2), silence(30));
    expect(activity.length).toBe(33 * 50);
    expect(activity.speechBetween(0, 33)).toBeCloseTo(2.1, 0);
    expect(activity.speechBetween(5, 100)).toBe(0);
  });

  it("goes back to the middle of a pause", () => {
    const activity = heard(babble(2), silence(1), babble(2));
    expect(activity.pauseBefore(3.2, 1)).toBeCloseTo(2.55, 1);
    expect(activity.pauseBefore(2.3, 1)).toBeLessThanOrEqual(2.3);
    expect(activity.pauseBefore(2.3, 1)).toBeGreaterThan(2);
    expect(activity.pauseBefore(4.9, 1)).toBe(4.9);
    expect(activity.pauseBefore(100, 1)).toBeGreaterThan(4);
  });

  it("tells steady sounds from speech", () => {
    expect(heard(silence(5)).isSteady(0, 5)).toBe(true);
    expect(heard(noise(5, 0.1)).isSteady(0, 5)).toBe(true);
    expect(heard(babble(5)).isSteady(0, 5)).toBe(false);
    expect(heard(babble(1), silence(4)).isSteady(0, 5)).toBe(false);
    expect(heard(babble(1), silence(4)).isSteady(2, 5)).toBe(true);
    expect(heard().isSteady(0, 1)).toBe(true);
  });
});
