import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { MediaError } from "../core/errors.js";
import { audioFixture, expectedAudio, int16Bytes, readPieces, riffChunk, wavFile } from "../testing/audio-fixtures.js";
import { mutate, randomNumbers } from "../testing/damage.js";

const SEED = 77_123;
const ROUNDS = 400;

/** Only samples or a MediaError may come out; not more than this many samples, from files this small. */
const MOST_SAMPLES = 40_000_000;

async function check(bytes: Uint8Array, label: string): Promise<"read" | "refused"> {
  // Half of the files come as a stream.
  const input = bytes.length % 2 === 0 ? bytes : [bytes.subarray(0, 100), bytes.subarray(100)];
  try {
    const pieces = await readPieces(input);
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    expect(length, label).toBeLessThan(MOST_SAMPLES);
    return "read";
  } catch (error) {
    expect(error, `${label}: ${(error as Error).stack}`).toBeInstanceOf(MediaError);
    return "refused";
  }
}

describe("damaged headers: samples or a MediaError, nothing else", () => {
  const sound = int16Bytes(Array.from({ length: 600 }, (_, index) => Math.round(9000 * Math.sin(index))));
  const originals: Record<string, Uint8Array> = {
    "plain WAV": wavFile({ data: sound }),
    "WAV with chunks": wavFile({ data: sound, channels: 2, before: [riffChunk("LIST", Buffer.alloc(27))] }),
    "WAV in ADPCM": wavFile({ tag: 0x11, bits: 4, channels: 2, blockAlign: 64, data: sound }),
    RF64: readFileSync(audioFixture("pcm-16-rf64.wav")),
    "extensible WAV": readFileSync(audioFixture("float-64-extensible.wav")).subarray(0, 3000),
  };
  it.each(Object.keys(originals))("%s", { timeout: 60_000 }, async (name) => {
    const random = randomNumbers(SEED);
    const seen = { read: 0, refused: 0 };
    for (let round = 0; round < ROUNDS; round++) {
      seen[await check(mutate(originals[name]!, random, 80), `round ${round}`)]++;
    }
    expect(seen.read).toBeGreaterThan(ROUNDS / 20);
    expect(seen.refused).toBeGreaterThan(ROUNDS / 20);
  });

  const compressed = Object.keys(expectedAudio.files).filter((name) => !name.endsWith(".wav"));
  it.each(compressed)("%s", { timeout: 60_000 }, async (name) => {
    const original = readFileSync(audioFixture(name)).subarray(0, 6000);
    const random = randomNumbers(SEED);
    for (let round = 0; round < 25; round++) await check(mutate(original, random, 200), `round ${round}`);
  });

  it("beginnings of formats followed by noise", { timeout: 60_000 }, async () => {
    const random = randomNumbers(SEED);
    const heads = [
      "RIFF\0\0\0\0WAVE",
      "RIFX\0\0\0\0WAVE",
      "fLaC",
      "OggS",
      "ID3\x04\0\0\x7f\x7f\x7f\x7f",
      "\xff\xfb\x90\x64",
      "",
    ];
    for (const head of heads) {
      for (let round = 0; round < 20; round++) {
        const noise = Uint8Array.from({ length: random(3000) }, () => random(256));
        await check(Buffer.concat([Buffer.from(head, "latin1"), noise]), `${JSON.stringify(head)}, round ${round}`);
      }
    }
  });
});
