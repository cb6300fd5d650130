import { describe, expect, it } from "vitest";
import type { FakeTranscriberScript } from "../testing/fake-native.js";
import { at, babble, ENGLISH_ONLY, joined, say, silence, TINY, useFakeWhispers } from "../testing/whisper-fixture.js";

const { load, variant } = useFakeWhispers();
const RATE = { sampleRate: 16_000 } as const;
const ENGLISH = { ...RATE, language: "en" } as const;

/** Says one sentence for each window, by the frame at which it begins. */
function sentences(texts: Record<number, number[]>): FakeTranscriberScript {
  return { decode: ({ window }) => ({ ids: texts[window.start] ?? [] }) };
}

const twoSegments = [at(0), ...say(" One."), at(2), at(2.5), ...say(" Two."), at(4)];

describe("short audio", () => {
  it("is one window, filled up with zeros before its spectrogram is computed", async () => {
    const { whisper, native } = await load(sentences({ 0: twoSegments }));
    const { text, segments, duration, language, languageProbability, finishReason } = await whisper.transcribe(
      babble(5),
      ENGLISH,
    );
    expect(native.spectrograms[0]).toMatchObject({ samples: 480_000, frames: 3000, finished: true });
    expect(native.transcriber.encoded).toMatchObject([{ start: 0, count: 3000 }]);
    expect({ text, duration, language, languageProbability, finishReason }).toEqual({
      text: "One. Two.",
      duration: 5,
      language: "en",
      languageProbability: 1,
      finishReason: "stop",
    });
    expect(segments).toEqual([
      {
        start: 0,
        end: 2,
        text: " One.",
        tokens: [at(0), ...say(" One."), at(2)],
        temperature: 0,
        avgLogprob: expect.closeTo(-0.2),
        compressionRatio: 9 / 17,
        noSpeechProb: 0.01,
      },
      expect.objectContaining({ start: 2.5, end: 4, text: " Two." }),
    ]);
  });

  it("the result can be written as JSON and read again", async () => {
    const { whisper } = await load(sentences({ 0: twoSegments }));
    const transcript = await whisper.transcribe(babble(5), { ...ENGLISH, timestamps: "word" });
    expect(JSON.parse(JSON.stringify(transcript))).toEqual(transcript);
  });

  it("the window's rest is heard from where its text broke off, with the padding behind it", async () => {
    const { whisper, native } = await load(
      sentences({ 0: [at(0), ...say(" One."), at(2), at(2)], 200: [at(0), ...say(" Two."), at(1.5)] }),
    );
    const { segments } = await whisper.transcribe(babble(5), ENGLISH);
    expect(native.transcriber.encoded).toMatchObject([
      { start: 0, count: 3000 },
      { start: 200, count: 2800 },
    ]);
    expect(segments.map(({ start, end }) => [start, end])).toEqual([
      [0, 2],
      [2, 3.5],
    ]);
  });

  it("ends where the audio does, whatever the model says", async () => {
    const ids = [at(0), ...say(" One."), at(2), at(8), ...say(" Two."), at(9), at(1)];
    const { whisper } = await load(sentences({ 0: ids }));
    const { segments, duration } = await whisper.transcribe(babble(1.25), ENGLISH);
    expect(duration).toBe(1.25);
    expect(segments.map(({ start, end }) => [start, end])).toEqual([
      [0, 1.25],
      [1.25, 1.25],
    ]);
  });

  it.each([0, 1, 100, 159])("%i samples give an empty transcript and no work", async (samples) => {
    const { whisper, native } = await load(sentences({ 0: twoSegments }));
    const transcript = await whisper.transcribe(new Float32Array(samples), RATE);
    expect(transcript).toMatchObject({ text: "", segments: [], duration: samples / 16_000, language: "und" });
    expect(transcript.languageProbability).toBe(0);
    expect(native.transcriber.encoded).toEqual([]);
  });

  it("a clip of half a second is heard", async () => {
    const { whisper } = await load(sentences({ 0: [at(0), ...say(" Yes."), at(0.5)] }));
    expect((await whisper.transcribe(babble(0.5), ENGLISH)).text).toBe("Yes.");
  });

  it("without timestamps the window is one segment", async () => {
    const { whisper, native } = await load({ decode: () => ({ ids: say(" Hello.") }) });
    const { segments } = await whisper.transcribe(babble(5), { ...ENGLISH, timestamps: false });
    expect(native.transcriber.decodes[0]).toMatchObject({
      inputs: [{ prompt: Int32Array.of(TINY.startOfTranscript, TINY.en, TINY.transcribe, TINY.noTimestamps) }],
      options: { timestamps: false },
    });
    expect(segments).toMatchObject([{ start: 0, end: 5, text: " Hello." }]);
  });
});

describe("long audio", () => {
  it("follows the timestamps from window to window", async () => {
    const { whisper, native } = await load(
      sentences({
        0: [at(0), ...say(" A."), at(10), at(10.5), ...say(" B."), at(28), at(28), ...say(" un")],
        2800: [at(0), ...say(" C."), at(20)],
        5800: [at(0.5), ...say(" D.")],
      }),
    );
    const { segments, text, metrics } = await whisper.transcribe(babble(60), ENGLISH);
    expect(native.spectrograms[0]!.samples).toBe(960_000);
    expect(native.transcriber.encoded).toMatchObject([
      { start: 0, count: 3000 },
      { start: 2800, count: 3000 },
      { start: 5800, count: 200 },
    ]);
    expect(text).toBe("A. B. C. D.");
    expect(segments.map(({ start, end }) => [start, end])).toEqual([
      [0, 10],
      [10.5, 28],
      [28, 48],
      [58, 60],
    ]);
    expect(metrics).toMatchObject({ windows: 3, fallbacks: 0 });
  });

  it("keeps timestamps although none are wanted: they tell where to go on", async () => {
    const { whisper, native } = await load(sentences({ 0: [at(0), ...say(" A."), at(20), at(20)], 2000: [] }));
    await whisper.transcribe(babble(40), { ...ENGLISH, timestamps: false });
    expect(native.transcriber.decodes[0]!.options.timestamps).toBe(true);
    expect(native.transcriber.encoded[1]).toMatchObject({ start: 2000, count: 2000 });
  });

  it("goes on although a window does not", async () => {
    const { whisper, native } = await load({ decode: () => ({ ids: [at(0), at(0)] }) });
    const { segments } = await whisper.transcribe(babble(65), ENGLISH);
    expect(native.transcriber.encoded.map(({ start }) => start)).toEqual([0, 3000, 6000]);
    expect(segments).toEqual([]);
  });

  it("segments never go back in time", async () => {
    const { whisper } = await load(
      sentences({
        0: [at(0), ...say(" A."), at(29), at(27), ...say(" B."), at(28), at(28)],
        2800: [at(0), ...say(" C."), at(2)],
      }),
    );
    const { segments } = await whisper.transcribe(babble(40), ENGLISH);
    const starts = segments.map(({ start }) => start);
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    for (const { start, end } of segments) expect(end).toBeGreaterThanOrEqual(start);
  });
});

describe("range", () => {
  it("transcribes a part; times are those of the whole", async () => {
    const { whisper, native } = await load(sentences({ 0: twoSegments }));
    const transcript = await whisper.transcribe(babble(60), { ...ENGLISH, range: [20.25, 30] });
    expect(native.spectrograms[0]!.samples).toBe(480_000);
    expect(transcript.duration).toBe(30);
    expect(transcript.segments.map(({ start, end }) => [start, end])).toEqual([
      [20.25, 22.25],
      [22.75, 24.25],
    ]);
  });

  it("refuses one that begins after the end", async () => {
    const { whisper } = await load();
    await expect(whisper.transcribe(babble(5), { ...ENGLISH, range: [6] })).rejects.toMatchObject({ path: "range[0]" });
  });
});

describe("languages", () => {
  const french: FakeTranscriberScript = {
    ...sentences({ 0: twoSegments }),
    detect: (_, ids) => ({ probabilities: ids.map((id) => (id === TINY.fr ? 0.75 : 0.125)) }),
  };

  it("finds out what is spoken in the window that is decoded anyway", async () => {
    const { whisper, native } = await load(french);
    expect(await whisper.transcribe(babble(5), RATE)).toMatchObject({ language: "fr", languageProbability: 0.75 });
    expect(native.transcriber.encoded).toHaveLength(1);
    expect([...native.transcriber.decodes[0]!.inputs[0]!.prompt]).toEqual([
      TINY.startOfTranscript,
      TINY.fr,
      TINY.transcribe,
    ]);
  });

  it("translates", async () => {
    const { whisper, native } = await load(french);
    await whisper.transcribe(babble(5), { ...RATE, task: "translate" });
    expect([...native.transcriber.decodes[0]!.inputs[0]!.prompt]).toEqual([
      TINY.startOfTranscript,
      TINY.fr,
      TINY.translate,
    ]);
  });

  it("listens again until there is speech, then no more", async () => {
    const { whisper, native } = await load({
      detect: ({ start }, ids) => ({
        probabilities: ids.map((id) => (id === (start === 0 ? TINY.fr : TINY.de) ? 1 : 0)),
      }),
      decode: ({ window }) =>
        window.start === 0
          ? { ids: say(" hm"), noSpeechProb: 0.9, avgLogprob: -2 }
          : { ids: [at(0), ...say(" Ja."), at(9)] },
    });
    expect(await whisper.transcribe(babble(90), RATE)).toMatchObject({ language: "de", languageProbability: 1 });
    expect(native.transcriber.detections).toBe(2);
  });

  it("is that of the speech behind a noise or music which leaves it open", async () => {
    const { whisper, native } = await load({
      detect: ({ start }, ids) => ({
        probabilities: ids.map((id) => (start === 0 ? 1 / 3 : id === TINY.de ? 0.9 : 0.05)),
      }),
      decode: () => ({ ids: [at(0), ...say(" A."), at(9)] }),
    });
    const transcript = await whisper.transcribe(joined(babble(31), silence(1), babble(20)), RATE);
    expect(native.transcriber.decodes.map(({ inputs }) => inputs[0]!.prompt[1])).toEqual([TINY.de, TINY.de]);
    expect(transcript.language).toBe("de");
    expect(transcript.languageProbability).toBeGreaterThan(0.5);
  });

  it("a window that is likely no speech has little to say about it", async () => {
    const { whisper, native } = await load({
      detect: ({ start }, ids) => ({
        probabilities: ids.map((id) => (id === (start === 0 ? TINY.en : TINY.de) ? 0.8 : 0.1)),
        noSpeechProb: start === 0 ? 0.95 : 0.05,
      }),
      decode: () => ({ ids: [at(0), ...say(" A."), at(9)] }),
    });
    expect(await whisper.transcribe(babble(60), RATE)).toMatchObject({ language: "de" });
    expect(native.transcriber.decodes.map(({ inputs }) => inputs[0]!.prompt[1])).toEqual([TINY.de, TINY.de]);
  });

  it("finds each window's language if asked to; the result is what most is in", async () => {
    const { whisper } = await load({
      detect: ({ start }, ids) => ({
        probabilities: ids.map((id) => (id === (start === 0 ? TINY.en : TINY.de) ? 0.8 : 0.1)),
      }),
      decode: () => ({ ids: [at(0), ...say(" A."), at(9)] }),
    });
    const { segments, language, languageProbability } = await whisper.transcribe(babble(90), {
      ...RATE,
      detectLanguagePerWindow: true,
    });
    expect(segments.map((segment) => segment.language)).toEqual(["en", "de", "de"]);
    expect(language).toBe("de");
    expect(languageProbability).toBeCloseTo(0.8);
  });

  it("an English-only model gets neither language nor task", async () => {
    const { whisper, native } = await load(sentences({ 0: twoSegments }), {}, { model: variant(ENGLISH_ONLY) });
    expect(await whisper.transcribe(babble(5), RATE)).toMatchObject({ language: "en", languageProbability: 1 });
    expect([...native.transcriber.decodes[0]!.inputs[0]!.prompt]).toEqual([TINY.startOfTranscript]);
    expect(native.transcriber.detections).toBe(0);
  });
});
