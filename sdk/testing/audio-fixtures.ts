import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { type AudioOptions, openAudio } from "../media/audio.js";

const FOLDER = new URL("../../test/fixtures/audio/", import.meta.url);

/** Expected values of one file in test/fixtures/audio; all of them from libsndfile and soxr (see make.py there). */
export interface ExpectedAudio {
  rate: number;
  channels: number;
  frames: number;
  /** Root mean square at 16 kHz. */
  rms: number;
  /** `samples` holds every so many-th sample at 16 kHz. */
  every: number;
  samples: number[];
}

export const expectedAudio = JSON.parse(readFileSync(new URL("expected.json", FOLDER), "utf8")) as {
  files: Record<string, ExpectedAudio>;
  "a-law": number[];
  "mu-law": number[];
  resampling: Record<string, number[]>;
};

/** A file of test/fixtures/audio. */
export function audioFixture(name: string): URL {
  return new URL(name, FOLDER);
}

/** Reads audio to its end. */
export async function readAudio(input: unknown, options?: AudioOptions): Promise<Float32Array> {
  return joinSamples(await readPieces(input, options));
}

/** Reads audio to its end, piece by piece. */
export async function readPieces(input: unknown, options?: AudioOptions): Promise<Float32Array[]> {
  const pieces: Float32Array[] = [];
  for await (const piece of await openAudio(input, options)) pieces.push(piece);
  return pieces;
}

export function joinSamples(pieces: readonly Float32Array[]): Float32Array {
  const joined = new Float32Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}

/** A chunk of a RIFF file, with its padding. */
export function riffChunk(id: string, body: Uint8Array, size = body.length, padding = body.length % 2): Uint8Array {
  const head = Buffer.alloc(8);
  head.write(id, 0, "latin1");
  head.writeUInt32LE(size, 4);
  return Buffer.concat([head, body, Buffer.alloc(padding)]);
}

/** Fields of a WAV file; what is left out is right for 16-bit mono at 16 kHz. */
export interface WavFields {
  tag?: number;
  channels?: number;
  rate?: number;
  bits?: number;
  blockAlign?: number;
  data?: Uint8Array;
  /** Said in the header, in place of the real one. */
  dataSize?: number;
  riffSize?: number;
  /** Chunks between fmt and data. */
  before?: Uint8Array[];
  /** Chunks after data. */
  after?: Uint8Array[];
  container?: string;
}

/** Makes a WAV file. */
export function wavFile(fields: WavFields = {}): Buffer {
  const { tag = 1, channels = 1, rate = 16000, bits = 16, data = new Uint8Array(0) } = fields;
  const blockAlign = fields.blockAlign ?? (channels * bits) / 8;
  const format = Buffer.alloc(16);
  format.writeUInt16LE(tag, 0);
  format.writeUInt16LE(channels, 2);
  format.writeUInt32LE(rate, 4);
  format.writeUInt32LE((rate * blockAlign) >>> 0, 8);
  format.writeUInt16LE(blockAlign, 12);
  format.writeUInt16LE(bits, 14);
  const body = Buffer.concat([
    Buffer.from("WAVE"),
    riffChunk("fmt ", format),
    ...(fields.before ?? []),
    riffChunk("data", data, fields.dataSize),
    ...(fields.after ?? []),
  ]);
  return Buffer.from(riffChunk(fields.container ?? "RIFF", body, fields.riffSize));
}

/** The bytes of numbers, little-endian. */
export function int16Bytes(values: ArrayLike<number>): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  for (let index = 0; index < values.length; index++) bytes.writeInt16LE(values[index]!, index * 2);
  return bytes;
}

/** The signal of make.py: a sweep that begins and ends softly. Each channel has its own. */
export function sweep(rate: number, channel: number, seconds = 0.4): Float64Array {
  const top = Math.min(6500, rate * 0.375);
  const [low, high] = channel % 2 === 0 ? [100, top] : [top, 200];
  return Float64Array.from({ length: Math.round(rate * seconds) }, (_, index) => {
    const time = index / rate;
    const fade = Math.max(0, Math.min(1, time / 0.05, (seconds - time) / 0.05)) ** 2;
    const phase = 2 * Math.PI * (low * time + ((high - low) * time ** 2) / (2 * seconds));
    return (0.6 / (channel + 1)) * fade * Math.sin(phase);
  });
}

/** Root mean square. */
export function rootMeanSquare(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, value) => sum + value * value, 0) / samples.length);
}

/** Largest difference between every so many-th sample and what is expected there. */
export function largestDifference(samples: Float32Array, every: number, expected: readonly number[]): number {
  return expected.reduce((most, value, index) => {
    const difference = Math.abs(value - (samples[index * every] ?? NaN));
    return Number.isNaN(difference) ? Infinity : Math.max(most, difference);
  }, 0);
}

/** Compares bit by bit; vitest's own comparison takes a second for a few hundred thousand numbers. */
export function expectSame(samples: Float32Array, expected: Float32Array): void {
  expect(samples).toHaveLength(expected.length);
  const different = samples.findIndex((value, index) => !Object.is(value, expected[index]));
  expect(different, "first sample that differs").toBe(-1);
}
