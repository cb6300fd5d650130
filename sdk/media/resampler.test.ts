import { describe, expect, it } from "vitest";
import { expectedAudio, joinSamples, largestDifference, rootMeanSquare, sweep } from "../testing/audio-fixtures.js";
import { Resampler } from "./resampler.js";

const RATES = [8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 44056, 48000, 88200, 96000, 192000];

function resample(samples: Float32Array, rate: number, pieceLength = samples.length): Float32Array {
  const resampler = new Resampler(rate);
  const parts: Float32Array[] = [];
  for (let at = 0; at < samples.length; at += pieceLength) {
    parts.push(resampler.push(samples.subarray(at, at + pieceLength)).slice());
  }
  parts.push(resampler.flush());
  return joinSamples(parts);
}

function tone(rate: number, hertz: number, seconds: number, phase = 0.3): Float32Array {
  const length = Math.round(rate * seconds);
  return Float32Array.from({ length }, (_, index) => Math.sin((2 * Math.PI * hertz * index) / rate + phase));
}

const decibels = (ratio: number): number => 20 * Math.log10(ratio);
const middle = (samples: Float32Array): Float32Array => samples.subarray(2000, samples.length - 2000);

describe("Resampler", () => {
  it.each([8000, 11025, 12000, 22050, 24000, 32000, 44100, 44056, 48000, 96000])(
    "gives what soxr gives at its best quality, from %i Hz",
    (rate) => {
      const [left, right] = [sweep(rate, 0), sweep(rate, 1)];
      const mono = Float32Array.from(left, (value, index) => (value + right[index]!) / 2);
      const resampled = resample(mono, rate);
      expect(resampled).toHaveLength(Math.round((mono.length * 16000) / rate));
      // -80 dB; two good filters differ a little near the end of the sweep.
      expect(largestDifference(resampled, 37, expectedAudio.resampling[rate]!)).toBeLessThan(1e-4);
    },
  );

  it.each(RATES)("keeps tones below 7 kHz within 0.1 dB and in place, from %i Hz", (rate) => {
    const top = Math.min(7000, rate * 0.435);
    for (const hertz of [50, 440, 3000, top].filter((value) => value <= top)) {
      const expected = middle(tone(16000, hertz, 0.5));
      const resampled = middle(resample(tone(rate, hertz, 0.5), rate));
      expect(Math.abs(decibels(rootMeanSquare(resampled) / rootMeanSquare(expected)))).toBeLessThan(0.1);
      // Any delay would show as a difference between the two.
      const difference = expected.map((value, index) => value - resampled[index]!);
      expect(decibels(rootMeanSquare(difference))).toBeLessThan(-45);
    }
  });

  it.each(RATES.filter((rate) => rate > 16000))("rejects tones above 8 kHz by more than 80 dB, from %i Hz", (rate) => {
    const possible = [8000, 8300, 9000, 11000, 15000, 20000, 30000, 40000, 90000].filter((hertz) => hertz < rate / 2);
    for (const hertz of possible) {
      const resampled = middle(resample(tone(rate, hertz, 0.5), rate));
      expect(decibels(rootMeanSquare(resampled) / Math.SQRT1_2), `${hertz} Hz`).toBeLessThan(-80);
    }
  });

  it.each([8000, 11025, 12000])("makes no images above the input's Nyquist frequency, from %i Hz", (rate) => {
    const hertz = rate * 0.43;
    const resampled = middle(resample(tone(rate, hertz, 1), rate));
    // Take the tone out; what is left is distortion.
    const basis = [tone(16000, hertz, 1, 0), tone(16000, hertz, 1, Math.PI / 2)].map(middle);
    let rest = resampled;
    for (const wave of basis) {
      const dot = wave.reduce((sum, value, index) => sum + value * rest[index]!, 0);
      const norm = wave.reduce((sum, value) => sum + value * value, 0);
      rest = rest.map((value, index) => value - (dot / norm) * wave[index]!);
    }
    expect(decibels(rootMeanSquare(rest))).toBeLessThan(-70);
  });

  it.each([...RATES, 1000, 44101, 384000])("gives the same in pieces of any length, from %i Hz", (rate) => {
    const samples = tone(rate, 300, 0.2);
    const whole = resample(samples, rate);
    expect(whole).toHaveLength(Math.round((samples.length * 16000) / rate));
    for (const pieceLength of [997, 4096]) {
      expect(resample(samples, rate, pieceLength)).toEqual(whole);
    }
  });

  it("gives exactly round(n × 16000 / rate) samples for short inputs too", { timeout: 60_000 }, () => {
    for (const rate of RATES) {
      for (const length of [0, 1, 2, 3, 5, 7, 80, 441]) {
        const resampled = resample(new Float32Array(length).fill(0.5), rate);
        expect(resampled, `${length} at ${rate} Hz`).toHaveLength(Math.round((length * 16000) / rate));
      }
    }
  });

  it("passes a constant unchanged", () => {
    for (const rate of [8000, 44100, 48000]) {
      const resampled = middle(resample(new Float32Array(rate).fill(0.25), rate));
      expect(Math.max(...resampled.map((value) => Math.abs(value - 0.25)))).toBeLessThan(1e-6);
    }
  });

  it("leaves 16 kHz as it is, bit by bit", () => {
    const samples = tone(16000, 7900, 0.1);
    expect(resample(samples, 16000, 100)).toEqual(samples);
  });

  it("holds back no more than the filter needs", () => {
    const resampler = new Resampler(48000);
    expect(resampler.push(new Float32Array(48000)).length).toBeGreaterThan(16000 - resampler.reach);
  });
});
