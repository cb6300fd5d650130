import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import wavefile from "wavefile";
import { MediaError } from "../core/errors.js";
import {
  audioFixture,
  expectedAudio,
  int16Bytes,
  largestDifference,
  readAudio,
  riffChunk,
  rootMeanSquare,
  type WavFields,
  wavFile,
} from "../testing/audio-fixtures.js";
import { openAudio } from "./audio.js";

const samples = Int16Array.from({ length: 4001 }, (_, index) => Math.round(12000 * Math.sin(index / 7)));
const data = int16Bytes(samples);
const expected = Float32Array.from(samples, (value) => value / 32768);

/** The same bytes in chunks of all sizes, so that every boundary is met. */
function dripped(bytes: Uint8Array): Readable {
  const chunks: Uint8Array[] = [];
  for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7) % 131) {
    chunks.push(bytes.subarray(at, at + size));
  }
  return Readable.from(chunks);
}

describe("WAV files by other programs", () => {
  const names = Object.keys(expectedAudio.files).filter((name) => name.endsWith(".wav"));
  it.each(names)("%s: what libsndfile reads", async (name) => {
    const { frames, rate, rms, every, samples: reference } = expectedAudio.files[name]!;
    const source = await openAudio(audioFixture(name));
    expect(source.duration).toBeCloseTo(frames / rate, 9);
    const read = await readAudio(audioFixture(name));
    expect(read).toHaveLength(Math.round((frames * 16000) / rate));
    // At 16 kHz nothing is resampled; A-law's noise up to 4 kHz passes differently through two filters.
    expect(largestDifference(read, every, reference)).toBeLessThan(rate === 16000 ? 1e-7 : 2e-3);
    expect(rootMeanSquare(read)).toBeCloseTo(rms, rate === 16000 ? 6 : 4);
    expect(await readAudio(dripped(readFileSync(audioFixture(name))))).toEqual(read);
    await source.close();
  });

  it.each(["a-law", "mu-law"] as const)("%s: all 256 values", async (encoding) => {
    const bytes = Uint8Array.from({ length: 256 }, (_, value) => value);
    const read = await readAudio(wavFile({ tag: encoding === "a-law" ? 6 : 7, bits: 8, data: bytes }));
    expect(Array.from(read, (value) => value * 32768)).toEqual(expectedAudio[encoding]);
  });

  it.each(["8", "16", "24", "32", "32f", "64"])("bit depth %s: what wavefile reads", async (bitDepth) => {
    const file = new wavefile.WaveFile();
    const isFloat = bitDepth === "32f" || bitDepth === "64";
    const [offset, scale] = isFloat ? [0, 1] : bitDepth === "8" ? [128, 128] : [0, 2 ** (Number(bitDepth) - 1)];
    const values = Array.from({ length: 300 }, (_, index) => {
      const value = Math.sin(index) * 0.9;
      return isFloat ? value : Math.floor(value * scale) + offset;
    });
    file.fromScratch(2, 16000, bitDepth, values);
    const read = await readAudio(file.toBuffer());
    const wave = new wavefile.WaveFile(file.toBuffer()).getSamples(true);
    const mean = (index: number): number =>
      ((wave[2 * index]! - offset) / scale + (wave[2 * index + 1]! - offset) / scale) / 2;
    expect(read).toEqual(Float32Array.from({ length: 150 }, (_, index) => mean(index)));
  });
});

describe("scaling and mixing", () => {
  it("maps the extremes of each integer type as documented", async () => {
    const cases: [bits: number, bytes: number[], value: number][] = [
      [8, [0], -1],
      [8, [128], 0],
      [8, [255], 127 / 128],
      [16, [0, 0x80], -1],
      [16, [0xff, 0x7f], 32767 / 32768],
      [24, [0, 0, 0x80], -1],
      [24, [0xff, 0xff, 0x7f], Math.fround(8388607 / 8388608)],
      [32, [0, 0, 0, 0x80], -1],
      [32, [0, 0, 0, 0x40], 0.5],
    ];
    for (const [bits, bytes, value] of cases) {
      expect(await readAudio(wavFile({ bits, data: Uint8Array.from(bytes) }))).toEqual(Float32Array.of(value));
    }
  });

  it("takes the mean of all channels: a voice on one of six is there", async () => {
    const values = new Int16Array(6 * 100);
    for (let frame = 0; frame < 100; frame++) values[frame * 6 + 4] = 600 * (frame % 7);
    const read = await readAudio(wavFile({ channels: 6, data: int16Bytes(values) }));
    expect(read).toEqual(Float32Array.from({ length: 100 }, (_, frame) => (100 * (frame % 7)) / 32768));
  });

  it("keeps floating-point samples beyond [-1, 1]", async () => {
    const bytes = Buffer.from(Float32Array.of(1e6, -2, 0.5).buffer);
    expect(await readAudio(wavFile({ tag: 3, bits: 32, data: bytes }))).toEqual(Float32Array.of(1e6, -2, 0.5));
  });

  it("refuses NaN and infinity, naming the place", async () => {
    for (const value of [NaN, Infinity, -Infinity]) {
      const values = new Float32Array(20000);
      values[16000] = value;
      const file = wavFile({ tag: 3, bits: 32, rate: 8000, data: Buffer.from(values.buffer) });
      await expect(readAudio(file)).rejects.toThrow(
        `Sample 16000 of the audio buffer (at 2.000 s) is ${value}; samples must be finite numbers`,
      );
      await expect(readAudio(file)).rejects.toBeInstanceOf(MediaError);
    }
  });
});

describe("unusual but readable", () => {
  const list = (length: number, padding?: number): Uint8Array =>
    riffChunk("LIST", Buffer.alloc(length, "x"), length, padding);
  const readable: Record<string, WavFields> = {
    "chunks of odd size with padding": { before: [list(27), riffChunk("fact", Buffer.alloc(4))] },
    "a chunk of odd size whose padding was forgotten": { before: [list(27, 0)] },
    "JUNK, bext and other chunks before the samples": {
      before: [
        riffChunk("JUNK", Buffer.alloc(5000)),
        riffChunk("bext", Buffer.alloc(602)),
        riffChunk("PEAK", Buffer.alloc(9)),
      ],
    },
    "chunks after the samples": { after: [list(40), riffChunk("id3 ", Buffer.alloc(11))] },
    "sizes of 0xffffffff": { dataSize: 0xffffffff, riffSize: 0xffffffff },
    "sizes of 0": { dataSize: 0, riffSize: 0 },
    "a data size of 0 and a RIFF size of the header": { dataSize: 0, riffSize: 36 },
    "a data size beyond the end": { dataSize: 0x7ffff000 },
    "a RIFF size that is wrong": { riffSize: 12345 },
  };
  it.each(Object.keys(readable))("%s", async (what) => {
    const file = wavFile({ data, ...readable[what] });
    expect(await readAudio(file)).toEqual(expected);
    expect(await readAudio(dripped(file))).toEqual(expected);
  });

  it("RF64 with its sizes in ds64", async () => {
    const sizes = Buffer.alloc(28);
    sizes.writeBigUInt64LE(BigInt(data.length), 8);
    const plain = wavFile({
      data,
      dataSize: 0xffffffff,
      riffSize: 0xffffffff,
      container: "RF64",
      after: [riffChunk("LIST", data)],
    });
    const file = Buffer.concat([plain.subarray(0, 12), riffChunk("ds64", sizes), plain.subarray(12)]);
    expect(await readAudio(file)).toEqual(expected);
  });

  it("a file that was cut off within a sample", async () => {
    const file = wavFile({ data }).subarray(0, 44 + 2001);
    expect(await readAudio(file)).toEqual(expected.subarray(0, 1000));
    expect(await readAudio(dripped(file))).toEqual(expected.subarray(0, 1000));
  });

  it("ADPCM that was cut off: as far as whole groups go", async () => {
    const whole = readFileSync(audioFixture("ima-adpcm.wav"));
    const reference = await readAudio(whole);
    const cut = await readAudio(whole.subarray(0, whole.length - 101));
    expect(cut.length).toBeGreaterThan(reference.length - 260);
    expect(cut).toEqual(reference.subarray(0, cut.length));
  });

  it("20 bits, which are stored in the upper bits of 24", async () => {
    const bytes = Uint8Array.from([0xf0, 0xff, 0x7f]);
    const file = wavFile({ bits: 20, blockAlign: 3, data: bytes });
    expect(await readAudio(file)).toEqual(Float32Array.of(0x7ffff0 / 0x800000));
  });

  it("a header without samples: delivers nothing", async () => {
    for (const file of [wavFile(), wavFile({ after: [list(26)] }), wavFile({ dataSize: 0xffffffff })]) {
      expect(await readAudio(file)).toHaveLength(0);
    }
    expect((await openAudio(wavFile())).duration).toBe(0);
  });
});

describe("damaged or foreign", () => {
  const refused: [what: string, file: Uint8Array, message: RegExp][] = [
    ["no channels", wavFile({ channels: 0, blockAlign: 2, data }), /its header says 0 channels \(possible: 1 to 256\)/],
    ["a rate of 0", wavFile({ rate: 0, data }), /a sampling rate of 0 Hz \(possible: 1000 to 384000\)/],
    ["an absurd rate", wavFile({ rate: 4294967295, data }), /a sampling rate of 4294967295 Hz/],
    [
      "a block align that does not fit",
      wavFile({ blockAlign: 3, data }),
      /block align of 3 bytes, but 1 channel\(s\) of 16 bits need 2/,
    ],
    ["0 bits", wavFile({ bits: 0, data }), /says 0 bits a sample \(possible for PCM: 8, 16, 24, 32\)/],
    ["64-bit integers", wavFile({ bits: 64, data }), /says 64 bits a sample/],
    ["16-bit floats", wavFile({ tag: 3, bits: 16, data }), /16 bits a sample \(possible for IEEE float: 32, 64\)/],
    ["no data chunk", wavFile({ data }).subarray(0, 36), /there is no data chunk/],
    ["a cut fmt chunk", wavFile({ data }).subarray(0, 30), /its fmt chunk has 10 bytes, but needs at least 16/],
    [
      "data before fmt",
      Buffer.concat([Buffer.from("RIFF\0\0\0\0WAVE"), riffChunk("data", data)]),
      /data chunk comes before its fmt chunk/,
    ],
    [
      "extensible without its extension",
      wavFile({ tag: 0xfffe, data }),
      /WAVE_FORMAT_EXTENSIBLE, but has 16 bytes in place of 40/,
    ],
    [
      "ADPCM with an impossible block",
      wavFile({ tag: 0x11, bits: 4, channels: 2, blockAlign: 7, data }),
      /block align of 7 bytes, but IMA ADPCM with 2 channel\(s\) needs a multiple of 8/,
    ],
    [
      "MP3 in WAV",
      wavFile({ tag: 0x55, data }),
      /format tag is 0x0055 \(MP3\), which is not decoded here .* ffmpeg -i/,
    ],
    ["an unknown tag", wavFile({ tag: 0x1234, data }), /format tag is 0x1234 \(unknown\)/],
    ["Microsoft ADPCM", readFileSync(audioFixture("refused-ms-adpcm.wav")), /0x0002 \(Microsoft ADPCM\)/],
    ["GSM", readFileSync(audioFixture("refused-gsm.wav")), /0x0031 \(GSM 6.10\)/],
  ];
  it.each(refused)("%s: MediaError", async (_, file, message) => {
    const error: unknown = await readAudio(file).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(MediaError);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).toMatch(/^Cannot read audio from the audio buffer: /);
    await expect(readAudio(dripped(file))).rejects.toThrow(message);
  });
});
