import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect } from "vitest";
import { setNativeForTesting } from "../core/native.js";
import type { WhisperLoadOptions } from "../whisper/whisper-options.js";
import { WhisperPipeline } from "../whisper/whisper-pipeline.js";
import { joinSamples } from "./audio-fixtures.js";
import { FakeNative, type FakeNativeOptions, type FakeTranscriberScript } from "./fake-native.js";

/** A tiny real model: its tokenizer and configuration are used, its weights are not. Its vocabulary is bytes. */
export const TINY_WHISPER = fileURLToPath(new URL("../../test/fixtures/whisper/tiny-ir", import.meta.url));

/** Ids of the tiny model's vocabulary. */
export const TINY = {
  vocabSize: 1768,
  endOfText: 256,
  startOfTranscript: 257,
  en: 258,
  de: 259,
  fr: 260,
  translate: 261,
  transcribe: 262,
  startOfPrevious: 264,
  noSpeech: 265,
  noTimestamps: 266,
  timestampBegin: 267,
} as const;

/** The tiny model's token of a time in seconds. */
export function at(seconds: number): number {
  return TINY.timestampBegin + Math.round(seconds / 0.02);
}

/** Characters that stand for bytes in GPT-2's order, which is that of the tiny model's ids: printable ones first. */
const BYTE_ORDER = [
  ...Array.from({ length: 94 }, (_, index) => 0x21 + index),
  ...Array.from({ length: 12 }, (_, index) => 0xa1 + index),
  ...Array.from({ length: 82 }, (_, index) => 0xae + index),
  ...Array.from({ length: 33 }, (_, index) => index),
  ...Array.from({ length: 34 }, (_, index) => 0x7f + index),
  0xad,
];

/** Tokens of a text: one a byte. */
export function say(text: string): number[] {
  return [...Buffer.from(text, "utf8")].map((byte) => BYTE_ORDER.indexOf(byte));
}

/** A Whisper pipeline over a scripted addon. */
export interface FakeWhisper {
  whisper: WhisperPipeline;
  native: FakeNative;
}

/** Loads the tiny model over a scripted addon. */
export async function loadFakeWhisper(
  hears: FakeTranscriberScript = {},
  options: WhisperLoadOptions = {},
  native: Omit<FakeNativeOptions, "hears"> & { model?: string } = {},
): Promise<FakeWhisper> {
  const { model = TINY_WHISPER, ...rest } = native;
  const fake = new FakeNative({ transcriberInfo: { vocabSize: TINY.vocabSize }, ...rest, hears });
  setNativeForTesting(fake);
  return { whisper: await WhisperPipeline.load(model, { cache: false, ...options }), native: fake };
}

/** Samples of silence at 16 kHz. */
export function silence(seconds: number): Float32Array {
  return new Float32Array(Math.round(seconds * 16_000));
}

/** Sound with the loudness of speech, which rises and falls as syllables do. */
export function babble(seconds: number, loudness = 0.2): Float32Array {
  return Float32Array.from({ length: Math.round(seconds * 16_000) }, (_, index) => {
    const turns = (2 * Math.PI * index) / 16_000;
    const voice = (Math.sin(turns * 300) + Math.sin(turns * 1500)) / 2;
    return loudness * voice * (0.6 + 0.4 * Math.sin(turns * 4));
  });
}

/** Parts of audio, one after the other. */
export function joined(...parts: Float32Array[]): Float32Array {
  return joinSamples(parts);
}

/** For a test file: pipelines and folders are given back after each test, and no rejection may be left unhandled. */
export function useFakeWhispers(): {
  load: typeof loadFakeWhisper;
  /** A copy of the tiny model with changes to its JSON files; `undefined` takes a field away. */
  variant: (changes: Record<string, Record<string, unknown>>) => string;
} {
  const opened: FakeWhisper[] = [];
  const folders: string[] = [];
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  beforeEach(() => void process.on("unhandledRejection", note));
  afterEach(async () => {
    for (const { whisper, native } of opened.splice(0)) {
      expect(native.transcribers.map(({ windowsHeld }) => windowsHeld)).toEqual(native.transcribers.map(() => 0));
      await whisper.dispose();
    }
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off("unhandledRejection", note);
    setNativeForTesting(undefined);
    expect(unhandled.splice(0)).toEqual([]);
  });
  return {
    load: async (...parts) => {
      const fake = await loadFakeWhisper(...parts);
      opened.push(fake);
      return fake;
    },
    variant: (changes) => {
      const folder = mkdtempSync(join(tmpdir(), "pergola-whisper-"));
      folders.push(folder);
      cpSync(TINY_WHISPER, folder, { recursive: true });
      for (const [file, fields] of Object.entries(changes)) {
        const path = join(folder, file);
        const before = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
        writeFileSync(path, JSON.stringify({ ...before, ...fields }));
      }
      return folder;
    },
  };
}

/** Changes that make the tiny model one that knows only English. */
export const ENGLISH_ONLY = { "generation_config.json": { is_multilingual: false, lang_to_id: undefined } };
