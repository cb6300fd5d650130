import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { int16Bytes, readAudio, wavFile } from "./audio-fixtures.js";

export const RATE = 44100;

/** Twelve seconds in two channels, 16 bits. */
export const stereo = int16Bytes(
  Array.from({ length: 2 * RATE * 12 }, (_, index) =>
    Math.round(9000 * Math.sin(index / 40) * Math.cos(index / 90000)),
  ),
);

/** The same as a WAV file. */
export const file = wavFile({ channels: 2, rate: RATE, data: stereo });

/** The file on disk, in a folder of the test's own. Filled before the tests run. */
export const recording: { folder: string; path: string; whole: Float32Array } = {
  folder: "",
  path: "",
  whole: new Float32Array(),
};

/** Puts the file there for the tests of a file, and takes it away afterwards. */
export function useRecording(): void {
  beforeAll(async () => {
    recording.folder = mkdtempSync(join(tmpdir(), "pergola-audio-"));
    recording.path = join(recording.folder, "täst clip.wav");
    writeFileSync(recording.path, file);
    recording.whole = await readAudio(recording.path);
  });
  afterAll(() => rmSync(recording.folder, { recursive: true }));
}

/** What reading rejects with. */
export async function failure(input: unknown, options?: object): Promise<Error> {
  const reason: unknown = await readAudio(input, options).catch((error: unknown) => error);
  expect(reason).toBeInstanceOf(Error);
  return reason as Error;
}

/** Files that this process has open in the recording's folder. */
export function openFiles(): number {
  return readdirSync("/proc/self/fd").filter((entry) => {
    try {
      return readlinkSync(`/proc/self/fd/${entry}`).includes(recording.folder);
    } catch {
      return false; // closed meanwhile
    }
  }).length;
}
