import { describe, expect, it } from "vitest";
import { expectSame, int16Bytes, readAudio, rootMeanSquare, sweep, wavFile } from "../testing/audio-fixtures.js";
import { ChannelMixer } from "./channel-mixer.js";

const RATE = 16_000;

/** A voice of its own for each seed: vowels of changing pitch with a little breath. */
function voice(seed: number, seconds = 3): Float32Array {
  let state = seed;
  const breath = (): number => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) / 2 ** 32 - 0.5;
  let phase = 0;
  return Float32Array.from({ length: RATE * seconds }, (_, index) => {
    const time = index / RATE;
    phase += (2 * Math.PI * (110 + 20 * seed + 15 * Math.sin(time * (3 + seed)))) / RATE;
    let sample = 0;
    for (let harmonic = 1; harmonic < 20; harmonic++) sample += Math.sin(phase * harmonic) / harmonic;
    return 0.1 * sample * (0.55 + 0.45 * Math.sin(time * (11 + 2 * seed))) + 0.01 * breath();
  });
}

const map = (samples: Float32Array, to: (sample: number, index: number) => number): Float32Array =>
  Float32Array.from(samples, to);
const negative = (samples: Float32Array): Float32Array => map(samples, (sample) => -sample);

/** Mixes in portions of so many samples. */
function mix(channels: Float32Array[], portion = 1000): Float32Array {
  const mixer = new ChannelMixer(RATE);
  const mono = new Float32Array(channels[0]!.length);
  for (let at = 0; at < mono.length; at += portion) {
    const parts = channels.map((channel) => channel.subarray(at, at + portion));
    mono.set(mixer.mix(parts, parts[0]!.length), at);
  }
  return mono;
}

const plainMean = (channels: Float32Array[]): Float32Array =>
  map(channels[0]!, (_, index) => channels.reduce((sum, channel) => sum + channel[index]!, 0) / channels.length);

const one = voice(1);
const two = voice(2);

describe("channels that are each other's inverse", () => {
  it.each([7, 160, 1000, 48_000])("do not cancel, in portions of %i samples", (portion) => {
    const mono = mix([one, negative(one)], portion);
    // All but the beginning: so short a piece says nothing yet.
    expectSame(mono.subarray(RATE / 10), one.subarray(RATE / 10));
  });

  it.each([
    ["a little weaker and with a noise of its own", map(one, (sample, index) => -0.98 * sample + two[index]! * 0.02)],
    ["half as loud", map(one, (sample) => -0.5 * sample)],
    ["with an offset", map(one, (sample) => 0.3 - sample)],
    ["a sample later", map(one, (_, index) => -(one[index - 1] ?? 0))],
  ])("nor where the second is %s", (_, other) => {
    expect(rootMeanSquare(mix([one, other]))).toBeGreaterThan(0.7 * rootMeanSquare(one));
  });

  it("stay turned in pauses, and turned or not without a jump", () => {
    const hush = (seed: number): Float32Array => map(voice(seed), (sample) => sample * 0.001);
    const parts = [one, hush(3), one, two, one];
    const left = Float32Array.from(parts.flatMap((part) => [...part]));
    const inverse = [negative(one), hush(4), negative(one), two, negative(one)];
    const mono = mix([left, Float32Array.from(inverse.flatMap((part) => [...part]))], 800);
    for (let part = 0; part < 5; part++) {
      const [from, length] = [part * one.length, one.length];
      if (part === 1) continue;
      expect(rootMeanSquare(mono.subarray(from, from + length))).toBeGreaterThan(0.9 * rootMeanSquare(parts[part]!));
    }
    let [steepest, steepestOfOne] = [0, 0];
    for (let index = 1; index < mono.length; index++) {
      steepest = Math.max(steepest, Math.abs(mono[index]! - mono[index - 1]!));
      steepestOfOne = Math.max(steepestOfOne, Math.abs(left[index]! - left[index - 1]!));
    }
    expect(steepest).toBeLessThan(1.5 * steepestOfOne);
  });

  it.each([
    [
      "a pair of six",
      [voice(3, 1), negative(voice(3, 1)), ...[1, 2, 4, 5].map((seed) => map(voice(seed, 1), (v) => v / 9))],
    ],
    ["two of four", [one, one, negative(one), negative(one)]],
    ["one of three", [one, negative(one), one]],
  ])("do not cancel in more channels: %s", (_, channels) => {
    const mono = mix(channels).subarray(RATE / 10);
    const loudest = rootMeanSquare(channels[0]!);
    expect(rootMeanSquare(mono)).toBeGreaterThan(
      (0.9 * loudest * (channels.length === 6 ? 2 : channels.length)) / channels.length,
    );
  });
});

describe("channels that are merely different", () => {
  const constant = (value: number): Float32Array => new Float32Array(one.length).fill(value);
  it.each([
    ["two voices", [one, two]],
    ["equal", [one, one]],
    ["one silent", [one, constant(0)]],
    ["inverse and much weaker", [one, map(one, (sample) => -0.05 * sample)]],
    ["inverse offsets", [map(one, (sample) => sample + 0.3), map(one, (sample) => sample - 0.3)]],
    [
      "inverse hum",
      [one, one].map((side, channel) => map(side, (v, i) => v + (channel * 2 - 1) * 0.2 * Math.sin(i / 50))),
    ],
    [
      "voices that leak into each other",
      [map(one, (v, i) => v + 0.3 * two[i]!), map(two, (v, i) => v + 0.3 * one[i]!)],
    ],
    ["six of them", [1, 2, 3, 4, 5, 6].map((seed) => voice(seed))],
    ["sweeps", [0, 1].map((channel) => Float32Array.from(sweep(RATE, channel)))],
  ])("give their mean to the last bit: %s", (_, channels) => {
    expectSame(mix(channels), plainMean(channels));
    expectSame(mix(channels, 160), plainMean(channels));
  });
});

it("a WAV file of inverse channels keeps its voice", async () => {
  const ints = Array.from(one, (sample) => Math.round(sample * 32767));
  const data = int16Bytes(ints.flatMap((sample) => [sample, -sample]));
  const mono = await readAudio(wavFile({ channels: 2, data }));
  expect(mono[RATE]).toBeCloseTo(ints[RATE]! / 32768, 7);
  expect(rootMeanSquare(mono)).toBeGreaterThan(0.95 * rootMeanSquare(one));
});
