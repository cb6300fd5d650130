import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { joinSamples, readAudio } from "../testing/audio-fixtures.js";
import type { Transcript } from "./transcript.js";
import { WhisperPipeline } from "./whisper-pipeline.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const MADE = `${ROOT}test/fixtures/whisper/audio`;
/** Recordings of people are not part of the repository. */
const HUMAN = process.env["PERGOLA_TEST_AUDIO"];

/** What transformers and openai/whisper wrote (f32, greedy); `words` are openai/whisper's. */
interface Recording {
  language: string;
  seconds: number;
  kind: "human" | "synthetic" | "mixed";
  ids?: number[];
  segments?: [start: number, end: number, text: string][];
  text?: string;
  words?: [word: string, start: number, end: number, probability: number][];
}

const goldens = JSON.parse(readFileSync(`${ROOT}test/fixtures/whisper/golden/recordings.json`, "utf8")) as Record<
  string,
  Record<string, Recording>
>;

const SILENT = new Set(["silence-5", "noise-5", "tone-1"]);

function pathOf(clip: string): string | undefined {
  return [MADE, HUMAN].flatMap((folder) => (folder ? [`${folder}/${clip}.wav`] : [])).find(existsSync);
}

/** What holds for every transcript: times within the audio, in order, and segments that make the text. */
function expectSound({ segments, duration, text }: Transcript): void {
  let last = 0;
  for (const { start, end } of segments) {
    expect(start).toBeGreaterThanOrEqual(last);
    expect(end).toBeGreaterThanOrEqual(start);
    expect(end).toBeLessThanOrEqual(duration + 1e-6);
    last = start;
  }
  expect(
    segments
      .map((segment) => segment.text)
      .join("")
      .trim(),
  ).toBe(text);
}

describe.each(["tiny.en", "base"])("whisper-%s, computed exactly", (name) => {
  let whisper: WhisperPipeline;
  beforeAll(async () => {
    const properties = { INFERENCE_PRECISION_HINT: "f32" };
    whisper = await WhisperPipeline.load(`${ROOT}models/whisper-${name}`, { properties });
  });
  afterAll(() => whisper.dispose());

  const clips = Object.entries(goldens[name]!).filter(([clip]) => !SILENT.has(clip));
  const language = (recording: Recording): string | undefined => (name === "base" ? recording.language : undefined);

  for (const [clip, recording] of clips) {
    const path = pathOf(clip);
    const isShort = recording.seconds <= 30 && recording.ids !== undefined;
    // Skipped with the reason in its name where the recordings are not there.
    const title = path ? clip : `${clip} (PERGOLA_TEST_AUDIO does not hold it)`;
    it.runIf(path && isShort)(`hears ${title} as transformers does, token by token`, async () => {
      const transcript = await whisper.transcribe(path!, { language: language(recording), temperature: 0 });
      expectSound(transcript);
      expect(transcript.segments.flatMap(({ tokens }) => tokens)).toEqual(recording.ids);
    });
    it.runIf(path && !isShort && recording.segments)(`hears ${title} with its segments and times`, async () => {
      const transcript = await whisper.transcribe(path!, { language: language(recording), temperature: 0 });
      expectSound(transcript);
      const found = transcript.segments.map(({ start, end, text }) => [start, end, text]);
      expect(found).toEqual(recording.segments!.map(([start, end, text]) => [start, end, text]));
    });
    it.runIf(path && recording.kind === "human" && recording.words && recording.seconds > 2)(
      `finds the words of ${title} where openai/whisper does`,
      async () => {
        const options = { language: language(recording), temperature: 0, timestamps: "word" } as const;
        const words = (await whisper.transcribe(path!, options)).segments.flatMap((segment) => segment.words ?? []);
        // Where the texts differ (openai/whisper pads short audio otherwise), the words that both have are compared.
        let next = 0;
        const differences = words.flatMap(({ word, start, end }) => {
          const found = recording.words!.findIndex(
            ([text], index) => index >= next && index < next + 4 && text === word,
          );
          if (found < 0) return [];
          next = found + 1;
          const [, goldenStart, goldenEnd] = recording.words![found]!;
          return [Math.abs(start - goldenStart), Math.abs(end - goldenEnd)];
        });
        differences.sort((a, b) => a - b);
        // Two differences a word: most of the words that openai/whisper found are among ours.
        expect(differences.length / 2).toBeGreaterThan(recording.words!.length * 0.6);
        expect(differences[differences.length >> 1]).toBeLessThanOrEqual(0.04);
      },
    );
  }

  it.each(["silence-5", "noise-5"])("hears nothing in %s", async (clip) => {
    const { text, segments } = await whisper.transcribe(`${MADE}/${clip}.wav`, { language: "en" });
    expect({ text, segments }).toEqual({ text: "", segments: [] });
  });
});

describe("reports about other software (docs/bug-reports.md, G)", () => {
  let whisper: WhisperPipeline;
  let speech: Float32Array;
  beforeAll(async () => {
    whisper = await WhisperPipeline.load(`${ROOT}models/whisper-tiny.en`);
    speech = await readAudio(`${MADE}/say-en-2.wav`);
  });
  afterAll(() => whisper.dispose());
  const hear = (samples: Float32Array, options = {}) => whisper.transcribe(samples, { sampleRate: 16_000, ...options });

  it.each([0, 1, 160, 400, 464, 480, 1600, 6400])("G1, G2: %i samples are text or nothing", async (count) => {
    const transcript = await hear(speech.slice(16_000, 16_000 + count));
    expect(transcript.duration).toBeCloseTo(count / 16_000, 6);
    expectSound(transcript);
  });

  it("G4: times stay in order and within the audio where it is repeated, cut off, or just over a window", async () => {
    const long = joinSamples(Array<Float32Array>(9).fill(speech)).slice(0, 65 * 16_000);
    for (const seconds of [65, 31, 7.3]) {
      for (const mode of ["sequential", "batched"] as const) {
        const transcript = await hear(long.slice(0, seconds * 16_000), { mode, temperature: 0 });
        expectSound(transcript);
        expect(transcript.segments.length).toBeGreaterThan(0);
        if (seconds > 30) expect(transcript.segments.at(-1)!.start).toBeGreaterThan(seconds / 2);
      }
    }
  });

  it("G5: silence invents nothing, and speech after a minute of it is found", async () => {
    expect((await hear(new Float32Array(160_000))).text).toBe("");
    const transcript = await hear(joinSamples([speech, new Float32Array(60 * 16_000), speech]));
    expectSound(transcript);
    expect(transcript.segments.at(-1)!.start).toBeGreaterThan(60);
    expect(transcript.segments.filter(({ start, end }) => start > 10 && end < 66)).toEqual([]);
  });

  it("G5: a faint noise of 35 s ends soon, with nothing said over and over", async () => {
    let state = 7;
    const noise = Float32Array.from({ length: 35 * 16_000 }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state / 2 ** 32 - 0.5) * 0.002;
    });
    const { text } = await hear(noise);
    expect(/(\b\w+(?: \w+){0,4}\b)(?: \1){5}/.test(text)).toBe(false);
  });

  it("G2: what is no number is refused by place; the pipeline works on", async () => {
    const broken = speech.slice(0, 32_000);
    broken[20_000] = NaN;
    await expect(hear(broken)).rejects.toMatchObject({ code: "media" });
    expect((await hear(speech)).text).toMatch(/report/i);
  });

  it("several calls at once give what each gives alone", async () => {
    const alone = await hear(speech);
    const together = await Promise.all([hear(speech), hear(speech.slice(0, 60_000)), hear(speech)]);
    expect(together[0].text).toBe(alone.text);
    expect(together[2].segments).toEqual(alone.segments);
  });
});
