import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectSame, readAudio, rootMeanSquare } from "../testing/audio-fixtures.js";

/** Folder with recordings of people and `clips.json`, which are not part of the repository. */
const FOLDER = process.env["PERGOLA_TEST_AUDIO"] ?? "";
const LIST = join(FOLDER, "clips.json");

interface Variant {
  rate: number;
  frames: number;
  rms: number;
  max_abs_diff_to_original_channel0?: number;
}

if (FOLDER === "" || !existsSync(LIST)) {
  describe("recordings of people", () => {
    it.skip("not tested: PERGOLA_TEST_AUDIO names no folder with clips.json", () => undefined);
  });
} else {
  const { clips, variants } = JSON.parse(readFileSync(LIST, "utf8")) as {
    clips: Record<string, { file: string; samples: number }>;
    variants: Record<string, Record<string, Variant>>;
  };

  describe("recordings of people", () => {
    it.each(Object.keys(clips))("%s: all samples", async (name) => {
      expect(await readAudio(join(FOLDER, clips[name]!.file))).toHaveLength(clips[name]!.samples);
    });
  });

  describe.each(Object.keys(variants))("variants of %s", (clip) => {
    it.each(Object.keys(variants[clip]!))("%s", async (name) => {
      const variant = variants[clip]![name]!;
      const original = await readAudio(join(FOLDER, `${clip}.wav`));
      const read = await readAudio(join(FOLDER, "variants", `${clip}.${name}.wav`));
      expect(read).toHaveLength(Math.round((variant.frames * 16000) / variant.rate));
      // Of 8 kHz recordings the filter takes what lies above 3.5 kHz.
      expect(rootMeanSquare(read)).toBeCloseTo(variant.rms, variant.rate < 16000 ? 3 : 5);
      if (variant.max_abs_diff_to_original_channel0 === 0 && !name.includes("stereo")) expectSame(read, original);
    });
  });
}
