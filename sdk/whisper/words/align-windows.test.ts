import { describe, expect, it } from "vitest";
import type { FakeTranscriberScript } from "../../testing/fake-native.js";
import { at, babble, joined, say, silence, TINY, useFakeWhispers } from "../../testing/whisper-fixture.js";

const { load } = useFakeWhispers();
const ENGLISH = { sampleRate: 16_000, language: "en" } as const;

/** Says one sentence for each window, by the frame at which it begins. */
function sentences(texts: Record<number, number[]>): FakeTranscriberScript {
  return { decode: ({ window }) => ({ ids: texts[window.start] ?? [] }) };
}

describe("words", () => {
  it("come with times and probabilities, and segments take their times", async () => {
    const { whisper, native } = await load({
      ...sentences({ 0: [at(0), ...say(" Hi, you."), at(4)] }),
      align: () => ({
        starts: [10, 20, 30, 40, 50, 60, 70, 80, 90, 100],
        probabilities: [0.9, 0.9, 0.6, 0.1, 1, 1, 1, 1, 0],
      }),
    });
    const { segments } = await whisper.transcribe(babble(5), { ...ENGLISH, timestamps: "word" });
    const [input] = native.transcriber.aligned;
    expect([...input!.ids]).toEqual([257, 258, 262, TINY.noTimestamps, ...say(" Hi, you."), TINY.endOfText]);
    expect(input).toMatchObject({ sotLength: 3, frames: 500 });
    expect(segments[0]!.words!.map(({ word, start, end }) => [word, start, end])).toEqual([
      [" Hi,", 0.2, 0.8],
      [" you.", 1, 1.8],
    ]);
    expect(segments[0]!.words![0]!.probability).toBeCloseTo(0.8);
    expect(segments[0]).toMatchObject({ start: 0.2, end: 1.8 });
    expect(segments[0]!.words!.map(({ word }) => word).join("")).toBe(segments[0]!.text);
  });

  it("the next window begins at the end of the last word", async () => {
    const { whisper, native } = await load({
      ...sentences({ 0: [at(0), ...say(" Hi"), at(20), at(20), ...say(" un")] }),
      align: () => ({ starts: [0, 10, 20, 900], probabilities: [1, 1, 1] }),
    });
    await whisper.transcribe(babble(60), { ...ENGLISH, timestamps: "word" });
    // The word is too long after a pause of none; it ends at 18 s.
    expect(native.transcriber.encoded[1]!.start).toBe(1800);
  });

  it("the next window begins at the segment's end where a word ends long after it: a sentence would be lost", async () => {
    const { whisper, native } = await load({
      decode: ({ window }) => ({
        ids:
          window.start === 0 ? [at(0), ...say(" Hi"), at(10), at(10), ...say(" un")] : [at(0), ...say(" Ho."), at(4)],
      }),
      // Its characters begin at 0, 0.2 and 14 s, and the text ends at 18 s, after a pause.
      align: ({ start }) =>
        start === 0
          ? { starts: [0, 700, 700, 900], probabilities: [1, 1, 1] }
          : { starts: [0, 10, 20, 30, 40], probabilities: [1, 1, 1, 1] },
    });
    const audio = joined(babble(10), silence(2), babble(6), silence(42));
    const { text, segments } = await whisper.transcribe(audio, { ...ENGLISH, timestamps: "word" });
    expect(native.transcriber.encoded[1]!.start).toBe(1000);
    expect(text.startsWith("Hi Ho.")).toBe(true);
    expect(segments[1]!.start).toBeGreaterThanOrEqual(10);
  });

  it("a segment invented in silence is left out, and what follows heard again", async () => {
    const script: FakeTranscriberScript = {
      decode: ({ window }) =>
        window.start === 0
          ? { ids: [at(0), ...say(" Hi."), at(1), at(10), ...say(" no"), at(11), at(11)] }
          : { ids: [at(0), ...say(" on"), at(1)] },
      align: ({ start }) =>
        start === 0
          ? { starts: [0, 10, 20, 30, 500, 510, 520, 530], probabilities: [1, 1, 1, 1, 0.01, 0.01, 0.01] }
          : { starts: [0, 10, 20, 30], probabilities: [1, 1, 1] },
    };
    const options = { ...ENGLISH, timestamps: "word", hallucinationSilenceThreshold: 2 } as const;
    const { whisper, native } = await load(script);
    const { text } = await whisper.transcribe(babble(60), options);
    expect(native.transcriber.encoded[1]!.start).toBe(1000);
    expect(text).toBe("Hi. on on");
  });
});
