import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { afterEach, describe, expect, it, vi } from "vitest";
import { MediaError } from "../core/errors.js";
import {
  audioFixture,
  expectedAudio,
  expectSame,
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

describe("tags of any size in front of the sound change nothing of it", () => {
  /** A picture that holds what looks like MPEG frames and a WAV file. */
  function picture(size: number): Buffer {
    const bytes = Buffer.alloc(size);
    for (let at = 0; at + 4 <= size; at += 417) bytes.set([0xff, 0xfb, 0x90, 0x00], at);
    bytes.write("RIFF\0\0\0\0WAVE", 100, "latin1");
    return bytes;
  }

  function id3(version: number, size: number, kind: "seven bits" | "eight bits" = "seven bits"): Buffer {
    const head = Buffer.from(`ID3${String.fromCharCode(version)}\0\0\0\0\0\0`, "latin1");
    const step = kind === "seven bits" ? 7 : 8;
    for (let byte = 0; byte < 4; byte++) head[9 - byte] = (size >> (step * byte)) & (kind === "seven bits" ? 127 : 255);
    return Buffer.concat([head, picture(size)]);
  }

  function ape(size: number): Buffer {
    const edge = (flags: number): Buffer => {
      const bytes = Buffer.alloc(32);
      bytes.write("APETAGEX");
      bytes.writeUInt32LE(2000, 8);
      bytes.writeUInt32LE(size + 32, 12);
      bytes.writeUInt32LE(flags, 20);
      return bytes;
    };
    return Buffer.concat([edge(0xa0000000), picture(size), edge(0x80000000)]);
  }

  it.each<[string, Buffer]>([
    ["ID3v2.2 with 3 MB", id3(2, 3_000_000)],
    ["ID3v2.4 with 3 MB", id3(4, 3_000_000)],
    ["a size of eight bits a byte", id3(3, 3_000, "eight bits")],
    ["3 MB with a size of eight bits a byte", id3(3, 3_000_000, "eight bits")],
    ["two tags", Buffer.concat([id3(3, 3_000), id3(4, 5_000)])],
    ["2 MB of zeros behind a tag", Buffer.concat([id3(3, 300), Buffer.alloc(2_000_000)])],
    ["an APE tag", ape(5_000)],
  ])("MP3: %s", async (_, tag) => {
    const bytes = bytesOf("mp3-16k.mp3");
    expectSame(await readAudio(Buffer.concat([tag, bytes])), await readAudio(bytes));
  });

  it("FLAC: a picture of 5 MB", async () => {
    const bytes = Buffer.from(bytesOf("flac-16k.flac"));
    const block = Buffer.concat([Buffer.from([6, 0, 0, 0]), picture(5_000_000)]);
    block.writeUIntBE(5_000_000, 1, 3);
    const plain = await readAudio(bytes);
    // The stream information is not the last block any more.
    const head = Buffer.from(bytes.subarray(0, 42));
    head[4] = head[4]! & 0x7f;
    expectSame(await readAudio(Buffer.concat([head, block, bytes.subarray(42)])), plain);
  });

  /** Pages of an Ogg file. */
  function oggPages(bytes: Buffer): Buffer[] {
    const pages: Buffer[] = [];
    for (let at = 0; at < bytes.length;) {
      const lacing = bytes.subarray(at + 27, at + 27 + bytes[at + 26]!);
      const end = at + 27 + lacing.length + lacing.reduce((sum, length) => sum + length, 0);
      pages.push(bytes.subarray(at, end));
      at = end;
    }
    return pages;
  }

  /** A packet of tags over as many pages as it takes. */
  function tagPages(like: Buffer, size: number): Buffer {
    const packet = Buffer.alloc(size, "A");
    packet.write("OpusTags");
    const pages: Buffer[] = [];
    for (let at = 0; ; at += 255 * 255) {
      const part = packet.subarray(at, at + 255 * 255);
      const isLast = part.length < 255 * 255;
      const lacing = Buffer.alloc(Math.floor(part.length / 255) + (isLast ? 1 : 0), 255);
      if (isLast) lacing[lacing.length - 1] = part.length % 255;
      const head = Buffer.from(like.subarray(0, 27));
      head[5] = at === 0 ? 0 : 1;
      head.writeBigInt64LE(isLast ? 0n : -1n, 6);
      head[26] = lacing.length;
      pages.push(head, lacing, part);
      if (isLast) return Buffer.concat(pages);
    }
  }

  it.each([1_000, 900_000, 1_500_000, 5_000_000])("Opus: %i bytes", async (size) => {
    const bytes = Buffer.from(bytesOf("opus-24k.opus"));
    const [head, tags, ...sound] = oggPages(bytes);
    const changed = Buffer.concat([head!, tagPages(tags!, size), ...sound]);
    expectSame(await readAudio(changed), await readAudio(bytes));
  });

  it("Opus: no tags at all", async () => {
    const bytes = Buffer.from(bytesOf("opus-24k.opus"));
    const [head, , ...sound] = oggPages(bytes);
    expectSame(await readAudio(Buffer.concat([head!, ...sound])), await readAudio(bytes));
  });
});

it("says how to install a decoder that is missing", () => {
  const fail = noDecoder("mpg123-decoder", "an MP3 file", "/talk.mp3");
  expect(() => fail(new Error("Cannot find package"))).toThrow(
    "Cannot read audio from /talk.mp3: it is an MP3 file, and the package that decodes it could not be loaded. " +
      "Install it: npm install mpg123-decoder; or convert the file: ffmpeg -i in.xyz out.wav.",
  );
});
