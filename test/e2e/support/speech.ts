import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { root } from "./paths.js";

const WAV_HEADER_BYTES = 44;
const fixtures = path.join(root, "test", "fixtures", "whisper");

/** A recording made with a speech synthesizer, and what transformers hears in it with tiny.en, greedy. */
export interface Speech {
  /** Path below the clone, as a user would type it. */
  file: string;
  /** Lines of the text: one a segment. */
  lines: string[];
  segments: { start: number; end: number; text: string }[];
}

function speech(name: string): Speech {
  const golden = JSON.parse(readFileSync(path.join(fixtures, "golden", "tiny.en", `${name}.json`), "utf8")) as {
    hf_timestamps: { segments: Speech["segments"] };
  };
  const { segments } = golden.hf_timestamps;
  const file = path.relative(root, path.join(fixtures, "audio", `${name}.wav`));
  return { file, segments, lines: segments.map(({ text }) => text.trim()) };
}

export const report = speech("say-en-2");
export const telephone = speech("say-en-3");

/** Whisper tiny.en and base as faster-whisper's users have them on disk. */
export const tinyEn = path.join(root, "models", "whisper-tiny.en");
export const base = path.join(root, "models", "whisper-base");

for (const model of [tinyEn, base]) {
  if (!existsSync(path.join(model, "model.bin"))) {
    throw new Error(`${path.relative(root, model)} is missing; \`node scripts/fetch-models.mjs\` makes it.`);
  }
}

/** A WAV file of many minutes: made recordings one after the other, so that no window of 30 s repeats itself. */
export function longRecording(rounds: number): Buffer {
  const parts = ["say-en", "say-en-2", "say-en-3"].map((name) =>
    readFileSync(path.join(fixtures, "audio", `${name}.wav`)),
  );
  const samples = Buffer.concat(parts.map((part) => part.subarray(WAV_HEADER_BYTES)));
  const header = Buffer.from(parts[0]!.subarray(0, WAV_HEADER_BYTES));
  header.writeUInt32LE(WAV_HEADER_BYTES - 8 + samples.length * rounds, 4);
  header.writeUInt32LE(samples.length * rounds, WAV_HEADER_BYTES - 4);
  return Buffer.concat([header, ...Array.from({ length: rounds }, () => samples)]);
}
