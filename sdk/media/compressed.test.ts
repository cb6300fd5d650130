import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { afterEach, describe, expect, it, vi } from "vitest";
import { MediaError } from "../core/errors.js";
import {
  audioFixture,
  expectedAudio,
  joinSamples,
  largestDifference,
  readAudio,
  readPieces,
  rootMeanSquare,
} from "../testing/audio-fixtures.js";
import { noDecoder } from "./decoder-package.js";

const names = Object.keys(expectedAudio.files).filter((name) => !name.endsWith(".wav"));
const bytesOf = (name: string): Buffer => readFileSync(audioFixture(name));

afterEach(() => {
  vi.restoreAllMocks();
});

describe("MP3, FLAC and Ogg", () => {
  it.each(names)("%s: what libsndfile reads", async (name) => {
    const { frames, rate, rms, every, samples } = expectedAudio.files[name]!;
    const read = await readAudio(audioFixture(name));
    expect(read).toHaveLength(Math.round((frames * 16000) / rate));
    // Opus decoders may differ a little; the others are exact but for the resampler.
    const tolerance = name.includes("opus") ? 2e-3 : rate === 16000 ? 5e-6 : 1e-4;
    expect(largestDifference(read, every, samples)).toBeLessThan(tolerance);
    expect(rootMeanSquare(read)).toBeCloseTo(rms, 4);
  });

  it.each(names)("%s: the same from a stream of small chunks", async (name) => {
    const bytes = bytesOf(name);
    const chunks = Array.from({ length: Math.ceil(bytes.length / 700) }, (_, at) =>
      bytes.subarray(at * 700, (at + 1) * 700),
    );
    expect(await readAudio(Readable.from(chunks))).toEqual(await readAudio(bytes));
  });

  it.each(names)("%s: a range is the same part of the whole", async (name) => {
    const whole = await readAudio(bytesOf(name));
    const part = await readAudio(bytesOf(name), { range: { start: 0.1, end: 0.25 } });
    expect(part).toHaveLength(2400);
    expect(part.every((value, index) => Math.abs(value - whole[1600 + index]!) < 1e-6)).toBe(true);
  });

  it("skips ID3 tags, however long, and zeros behind them", async () => {
    const tag = Buffer.alloc(10 + 300_000, 0x41);
    tag.write("ID3\x04\0\0", 0, "latin1");
    // 300000 in groups of seven bits.
    tag.set([0, 0x12, 0x27, 0x60], 6);
    const tagged = Buffer.concat([tag, Buffer.alloc(5000), bytesOf("mp3-16k.mp3")]);
    expect(await readAudio(tagged)).toEqual(await readAudio(bytesOf("mp3-16k.mp3")));
    expect(await readAudio(Readable.from([tagged]))).toEqual(await readAudio(bytesOf("mp3-16k.mp3")));
  });

  it("reads Ogg files that follow each other in one file", async () => {
    const [first, second] = [bytesOf("opus-stereo.ogg"), bytesOf("opus-24k.opus")];
    const both = await readAudio(Buffer.concat([first, second]));
    const apart = joinSamples([await readAudio(first), await readAudio(second)]);
    expect(both).toHaveLength(apart.length);
    // Only where they meet does the resampler see the other one.
    expect(both.subarray(0, 6300)).toEqual(apart.subarray(0, 6300));
    expect(both.subarray(6500)).toEqual(apart.subarray(6500));
  });

  it("applies the gain of an Opus header", async () => {
    const bytes = Buffer.from(bytesOf("opus-stereo.ogg"));
    const plain = await readAudio(bytes);
    const head = bytes.indexOf("OpusHead");
    bytes.writeInt16LE(-6 * 256, head + 16);
    const quiet = await readAudio(bytes);
    expect(rootMeanSquare(quiet) / rootMeanSquare(plain)).toBeCloseTo(10 ** (-6 / 20), 5);
  });

  // All sound of vorbis-16k.ogg is on its last page.
  it.each(names.filter((name) => name !== "vorbis-16k.ogg"))(
    "%s: cut off, it is read as far as it goes",
    async (name) => {
      const bytes = bytesOf(name);
      const whole = await readAudio(bytes);
      const cut = await readAudio(bytes.subarray(0, Math.floor(bytes.length * 0.7)));
      expect(cut.length).toBeGreaterThan(0);
      expect(cut.length).toBeLessThan(whole.length);
    },
  );

  it.each(names)(
    "%s: cut off within its headers, or damaged all over: MediaError and nothing on the console",
    async (name) => {
      const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
      const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
      const bytes = Buffer.from(bytesOf(name));
      await expect(readAudio(bytes.subarray(0, 60))).rejects.toBeInstanceOf(MediaError);
      const reason: unknown = await readAudio(bytes.fill(0x55, 200)).catch((caught: unknown) => caught);
      if (!(reason instanceof Float32Array)) expect(reason).toBeInstanceOf(MediaError);
      expect(error).not.toHaveBeenCalled();
      expect(warn).not.toHaveBeenCalled();
    },
  );

  it("damaged places in the middle do not end an MP3", async () => {
    const bytes = Buffer.from(bytesOf("mp3-44k1-stereo.mp3"));
    const length = (await readAudio(bytes)).length;
    bytes.fill(0x99, 2000, 2100);
    expect((await readAudio(bytes)).length).toBeGreaterThan(length / 2);
  });

  it("gives several pieces, one after the other, and can be left early", async () => {
    const bytes = bytesOf("flac-16k.flac");
    const pieces = await readPieces(Readable.from([bytes]));
    expect(pieces.length).toBeGreaterThan(0);
    expect(joinSamples(pieces)).toHaveLength(6400);
  });
});

it("says how to install a decoder that is missing", () => {
  const fail = noDecoder("mpg123-decoder", "an MP3 file", "/talk.mp3");
  expect(() => fail(new Error("Cannot find package"))).toThrow(
    "Cannot read audio from /talk.mp3: it is an MP3 file, and the package that decodes it could not be loaded. " +
      "Install it: npm install mpg123-decoder; or convert the file: ffmpeg -i in.xyz out.wav.",
  );
});
