import { describe, expect, it } from "vitest";
import { DisposedError, MediaError, OptionError } from "../core/errors.js";
import { fakeNativeError, type FakeTranscriberScript } from "../testing/fake-native.js";
import { at, babble, ENGLISH_ONLY, joined, say, silence, TINY, useFakeWhispers } from "../testing/whisper-fixture.js";
import type { TranscriptSegment } from "./transcript.js";
import type { TranscriptionProgress } from "./whisper-options.js";
import { WhisperPipeline } from "./whisper-pipeline.js";

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

describe("thresholds", () => {
  const repeated = [at(0), ...say(" ha".repeat(40)), at(9)];

  it("decodes a window again at higher temperatures, encoded once", async () => {
    const { whisper, native } = await load({
      decode: ({ options }) => (options.temperature < 0.4 ? { ids: repeated } : { ids: twoSegments }),
    });
    const { segments, metrics } = await whisper.transcribe(babble(5), ENGLISH);
    expect(native.transcriber.decodes.map(({ options }) => options.temperature)).toEqual([0, 0.2, 0.4]);
    expect(native.transcriber.encoded).toHaveLength(1);
    expect(segments[0]).toMatchObject({ text: " One.", temperature: 0.4 });
    expect(metrics.fallbacks).toBe(2);
  });

  it("beams are for temperature 0, several samples for those above", async () => {
    const { whisper, native } = await load({ decode: () => ({ ids: repeated }) });
    const options = { ...ENGLISH, beamSize: 4, patience: 1.5, bestOf: 3, lengthPenalty: 0.5, temperature: [0, 0.5] };
    await whisper.transcribe(babble(5), options);
    expect(native.transcriber.decodes.map((call) => call.options)).toMatchObject([
      { beamSize: 4, bestOf: 1, patience: 1.5, lengthPenalty: 0.5 },
      { beamSize: 1, bestOf: 3 },
    ]);
  });

  it("decodes again where tokens are improbable", async () => {
    const { whisper, native } = await load({
      decode: ({ options }) => ({ ids: twoSegments, avgLogprob: options.temperature === 0 ? -1.2 : -0.5 }),
    });
    const { segments } = await whisper.transcribe(babble(5), ENGLISH);
    expect(native.transcriber.decodes).toHaveLength(2);
    expect(segments[0]!.avgLogprob).toBeCloseTo(-0.5);
  });

  it("takes the likeliest text that does not repeat itself where none passes", async () => {
    const logprobs: Record<number, number> = { 0: -0.1, 0.2: -3, 0.4: -1.5, 0.6: -2 };
    const { whisper } = await load({
      decode: ({ options: { temperature } }) => ({
        ids: temperature === 0 ? repeated : [at(0), ...say(` at ${temperature}`), at(4)],
        avgLogprob: logprobs[temperature]!,
      }),
    });
    const { text } = await whisper.transcribe(babble(5), { ...ENGLISH, temperature: [0, 0.2, 0.4, 0.6] });
    expect(text).toBe("at 0.4");
  });

  it("null turns thresholds off", async () => {
    const { whisper, native } = await load({ decode: () => ({ ids: repeated, avgLogprob: -3, noSpeechProb: 0.99 }) });
    const off = { compressionRatioThreshold: null, logprobThreshold: null, noSpeechThreshold: null };
    const { segments } = await whisper.transcribe(babble(5), { ...ENGLISH, ...off });
    expect(segments).toHaveLength(1);
    expect(native.transcriber.decodes).toHaveLength(1);
  });

  it("a window without speech gives no text and is not decoded again", async () => {
    const { whisper, native } = await load({ decode: () => ({ ids: repeated, noSpeechProb: 0.7, avgLogprob: -1.1 }) });
    expect(await whisper.transcribe(babble(5), ENGLISH)).toMatchObject({ text: "", segments: [] });
    expect(native.transcriber.decodes).toHaveLength(1);
  });

  it("a text that the model is sure of is kept all the same", async () => {
    const { whisper } = await load({ decode: () => ({ ids: twoSegments, noSpeechProb: 0.7, avgLogprob: -0.9 }) });
    expect((await whisper.transcribe(babble(5), ENGLISH)).text).toBe("One. Two.");
  });

  it("but not where there is no sound that could be speech", async () => {
    const { whisper } = await load({ decode: () => ({ ids: twoSegments, noSpeechProb: 0.7, avgLogprob: -0.3 }) });
    const tone = Float32Array.from({ length: 80_000 }, (_, index) => 0.3 * Math.sin(index * 0.2));
    expect((await whisper.transcribe(tone, ENGLISH)).text).toBe("");
  });

  it("windows without any sound are not even encoded, unless texts are always kept", async () => {
    const { whisper, native } = await load({ decode: () => ({ ids: [at(0), ...say(" A."), at(5)] }) });
    const audio = joined(babble(5), silence(60), babble(5));
    const { segments } = await whisper.transcribe(audio, ENGLISH);
    expect(native.transcriber.encoded.map(({ start }) => start)).toEqual([0, 6000]);
    expect(segments.map(({ start }) => start)).toEqual([0, 60]);
    await whisper.transcribe(silence(5), { ...ENGLISH, noSpeechThreshold: null });
    expect(native.transcriber.encoded).toHaveLength(3);
  });
});

describe("prompts", () => {
  const prompts = (native: Awaited<ReturnType<typeof load>>["native"]): number[][] =>
    native.transcriber.decodes.map(({ inputs }) => [...inputs[0]!.prompt]);
  const START = [TINY.startOfTranscript, TINY.en, TINY.transcribe];
  const script = sentences({ 0: [at(0), ...say(" A."), at(9)], 3000: [at(0), ...say(" B."), at(9)] });

  it("the prompt stands before the first window, hotwords before all", async () => {
    const { whisper, native } = await load(script);
    await whisper.transcribe(babble(60), { ...ENGLISH, prompt: " Hi  ", hotwords: ["Ann", "Bo"] });
    expect(prompts(native)).toEqual([
      [TINY.startOfPrevious, ...say(" Ann, Bo"), ...say(" Hi"), ...START],
      [TINY.startOfPrevious, ...say(" Ann, Bo"), ...START],
    ]);
    expect(native.transcriber.decodes[0]!.inputs[0]!.sotIndex).toBe(12);
  });

  it("carryPrompt puts it before all", async () => {
    const { whisper, native } = await load(script);
    await whisper.transcribe(babble(60), { ...ENGLISH, prompt: "Hi", carryPrompt: true });
    expect(prompts(native)[1]).toEqual([TINY.startOfPrevious, ...say(" Hi"), ...START]);
  });

  it("both are cut in front to 223 tokens", async () => {
    const { whisper, native } = await load(script);
    await whisper.transcribe(babble(5), {
      ...ENGLISH,
      prompt: `${"x".repeat(100_000)} end`,
      hotwords: "y".repeat(100),
    });
    const [prompt] = prompts(native);
    expect(prompt).toHaveLength(1 + 223 + 3);
    expect(prompt!.slice(1, 102)).toEqual(say(` ${"y".repeat(100)}`));
    expect(prompt!.slice(-7, -3)).toEqual(say(" end"));
    await whisper.transcribe(babble(5), { ...ENGLISH, prompt: "Hi", hotwords: "y".repeat(1000) });
    expect(prompts(native)[1]).toEqual([TINY.startOfPrevious, ...say("y".repeat(223)), ...START]);
  });

  it("a spelled control token in it is text", async () => {
    const { whisper, native } = await load(script);
    await whisper.transcribe(babble(5), { ...ENGLISH, prompt: "<|endoftext|>" });
    expect(prompts(native)[0]).toEqual([TINY.startOfPrevious, ...say(" <|endoftext|>"), ...START]);
  });

  it("conditionOnPreviousText hands on the text, timestamps included, after the prompt", async () => {
    const { whisper, native } = await load(script);
    await whisper.transcribe(babble(60), { ...ENGLISH, conditionOnPreviousText: true, prompt: "Hi" });
    expect(prompts(native)[1]).toEqual([TINY.startOfPrevious, ...say(" Hi"), at(0), ...say(" A."), at(9), ...START]);
  });

  it("but not a text that took a temperature above 0.5", async () => {
    const { whisper, native } = await load({
      decode: ({ window, options }) => ({
        ids: [at(0), ...say(" A."), at(9)],
        avgLogprob: window.start === 0 && options.temperature < 0.6 ? -2 : -0.5,
      }),
    });
    await whisper.transcribe(babble(60), { ...ENGLISH, conditionOnPreviousText: true });
    expect(prompts(native).at(-1)).toEqual(START);
  });

  it("the whole never outgrows the decoder", async () => {
    const { whisper, native } = await load({ decode: () => ({ ids: [at(0), ...say("z".repeat(200)), at(9)] }) });
    const options = { conditionOnPreviousText: true, hotwords: "h".repeat(50), compressionRatioThreshold: null };
    await whisper.transcribe(babble(120), { ...ENGLISH, ...options });
    for (const prompt of prompts(native)) expect(prompt.length).toBeLessThanOrEqual(1 + 223 + 3);
    expect(prompts(native).at(-1)).toHaveLength(227);
  });
});

describe("decoding options", () => {
  it("control tokens are suppressed in every case", async () => {
    const { whisper, native } = await load(sentences({}));
    await whisper.transcribe(babble(1), ENGLISH);
    await whisper.transcribe(babble(1), { ...ENGLISH, suppressTokens: [] });
    await whisper.transcribe(babble(1), {
      ...ENGLISH,
      suppressTokens: [3],
      maxInitialTimestamp: null,
      maxNewTokens: 7,
    });
    const control = [257, 261, 262, 263, 264, 265];
    const calls = native.transcriber.decodes.map(({ options }) => options);
    expect(calls.map(({ suppressTokens }) => [...suppressTokens].sort((a, b) => a - b))).toEqual([
      [1, 2, 7, ...control],
      control,
      [3, ...control],
    ]);
    expect(calls.map(({ maxInitialTimestamp, maxNewTokens }) => [maxInitialTimestamp, maxNewTokens])).toEqual([
      [50, 224],
      [50, 224],
      [-1, 7],
    ]);
    expect([...calls[0]!.beginSuppressTokens]).toEqual([32, 256]);
  });

  it("the seed is the caller's, and another one for each window", async () => {
    const { whisper, native } = await load(sentences({ 0: [], 3000: [] }));
    await whisper.transcribe(babble(60), { ...ENGLISH, seed: 5 });
    expect(native.transcriber.decodes.map(({ inputs }) => inputs[0]!.seed)).toEqual([5, 3005]);
  });
});

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

describe("streams", () => {
  const script = sentences({
    0: [at(0), ...say(" A."), at(9)],
    3000: [at(0), ...say(" B."), at(9)],
    6000: [at(0), ...say(" C."), at(9)],
  });

  it("give segments as windows are done; the result is that of transcribe()", async () => {
    const { whisper } = await load(script);
    const stream = whisper.stream(babble(90), ENGLISH);
    const seen: TranscriptSegment[] = [];
    for await (const segment of stream) seen.push(segment);
    const result = await stream.result;
    const expected = await whisper.transcribe(babble(90), ENGLISH);
    expect(seen).toEqual(result.segments);
    expect({ ...result, metrics: undefined }).toEqual({ ...expected, metrics: undefined });
    expect(result.text).toBe("A. B. C.");
  });

  it("break keeps what came and leaves the rest", async () => {
    const { whisper, native } = await load(script);
    const stream = whisper.stream(babble(90), ENGLISH);
    for await (const segment of stream) if (segment.text === " A.") break;
    expect(await stream.result).toMatchObject({ text: "A.", finishReason: "stop" });
    expect(native.transcriber.encoded.length).toBeLessThan(3);
    expect(native.transcriber.windowsHeld).toBe(0);
    expect((await whisper.transcribe(babble(30), ENGLISH)).text).toBe("A.");
  });

  it("stop() in the middle of a window keeps the segments that are complete", async () => {
    const { whisper, native } = await load(
      sentences({ 0: [at(0), ...say(" Done."), at(2), at(2), ...say(" this takes long".repeat(20)), at(20)] }),
    );
    const stream = whisper.stream(babble(25), ENGLISH);
    while ((native.transcriber.stats().decodeSteps ?? 0) < 20) await new Promise((resolve) => setImmediate(resolve));
    await stream.stop();
    expect(await stream.result).toMatchObject({
      text: "Done.",
      finishReason: "stop",
      segments: [{ start: 0, end: 2 }],
    });
  });

  it("cancel() resolves with what had come, as cancelled", async () => {
    const { whisper } = await load(script);
    const stream = whisper.stream(babble(90), ENGLISH);
    const reader = stream[Symbol.asyncIterator]();
    await reader.next();
    await stream.cancel();
    const result = await stream.result;
    expect(result.finishReason).toBe("cancelled");
    expect(result.segments.length).toBeLessThan(3);
  });

  it("stop() while the audio is read ends at once", async () => {
    const { whisper } = await load(script);
    async function* endless(): AsyncGenerator<Float32Array> {
      yield babble(1);
      await new Promise(() => undefined);
    }
    const stream = whisper.stream(endless(), ENGLISH);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await stream.stop();
    expect(await stream.result).toMatchObject({ text: "", segments: [], finishReason: "stop" });
  });

  it("an aborted signal rejects with its reason, before, while reading and while decoding", async () => {
    const { whisper, native } = await load(script);
    const reason = new Error("enough");
    await expect(whisper.transcribe(babble(5), { ...ENGLISH, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    native.transcriber.hold();
    const running = whisper.transcribe(babble(5), { ...ENGLISH, signal: controller.signal });
    await new Promise((resolve) => setTimeout(resolve, 20));
    controller.abort(reason);
    native.transcriber.letGo();
    await expect(running).rejects.toBe(reason);
    expect(native.transcriber).toMatchObject({ windowsHeld: 0, jobsRunning: 0 });
    expect((await whisper.transcribe(babble(5), ENGLISH)).text).toBe("A.");
  });

  it("several calls run at once", async () => {
    const { whisper } = await load(script);
    const results = await Promise.all([1, 2, 3].map((minutes) => whisper.transcribe(babble(minutes * 30), ENGLISH)));
    expect(results.map(({ text }) => text)).toEqual(["A.", "A. B.", "A. B. C."]);
  });

  it("dispose() ends running calls, and later ones are refused", async () => {
    const { whisper, native } = await load(script);
    native.transcriber.hold();
    const running = whisper.transcribe(babble(90), ENGLISH);
    const outcome = expect(running).rejects.toThrow(DisposedError);
    await new Promise((resolve) => setTimeout(resolve, 10));
    const disposing = whisper.dispose();
    native.transcriber.letGo();
    await disposing;
    await outcome;
    expect(native.transcriber).toMatchObject({ closed: true, windowsHeld: 0 });
    await expect(whisper.transcribe(babble(1), ENGLISH)).rejects.toThrow(DisposedError);
    expect(() => whisper.stream(babble(1), ENGLISH)).toThrow(DisposedError);
    expect(() => whisper.live(babble(1))).toThrow(DisposedError);
    expect(() => whisper.explain()).toThrow(DisposedError);
  });
});

describe("errors", () => {
  it("wrong options throw where stream() is called, wrong audio comes through it", async () => {
    const { whisper } = await load();
    expect(() => whisper.stream(babble(1), { ...ENGLISH, beamSize: 0 })).toThrow(OptionError);
    await expect(whisper.stream(5 as unknown as string).result).rejects.toMatchObject({ path: "audio" });
    await expect(whisper.transcribe(babble(1))).rejects.toMatchObject({ path: "sampleRate" });
    await expect(whisper.transcribe("missing.wav")).rejects.toThrow(MediaError);
    await expect(whisper.transcribe(Float32Array.of(0, Number.NaN), RATE)).rejects.toThrow(/NaN/);
  });

  it("point at the caller's line", async () => {
    const { whisper } = await load();
    const error = (await whisper.transcribe(babble(1)).catch((thrown: unknown) => thrown)) as Error;
    expect(error.stack).toContain("whisper-pipeline.test.ts");
  });

  it("of the engine come as the SDK's classes, and the pipeline still works", async () => {
    const script: FakeTranscriberScript = {
      ...sentences({ 0: twoSegments }),
      encodeError: fakeNativeError("native", "no memory"),
    };
    const { whisper, native } = await load(script);
    await expect(whisper.transcribe(babble(5), ENGLISH)).rejects.toMatchObject({
      name: "NativeError",
      message: "no memory",
    });
    expect(native.transcriber.windowsHeld).toBe(0);
    delete script.encodeError;
    expect((await whisper.transcribe(babble(5), ENGLISH)).text).toBe("One. Two.");
  });

  it("of a progress listener end the call", async () => {
    const { whisper } = await load(sentences({ 0: twoSegments }));
    const failing = whisper.transcribe(babble(5), {
      ...ENGLISH,
      onProgress: () => {
        throw new Error("listener");
      },
    });
    await expect(failing).rejects.toThrow("listener");
  });
});

describe("progress", () => {
  it("goes from reading to speech and never back", async () => {
    const { whisper } = await load(sentences({ 0: [at(0), ...say(" A."), at(20), at(20)] }));
    const told: TranscriptionProgress[] = [];
    await whisper.transcribe(babble(60), { ...ENGLISH, onProgress: (progress) => void told.push(progress) });
    expect(told[0]).toMatchObject({ stage: "audio", seconds: 5, of: 60 });
    expect(told.filter(({ stage }) => stage === "speech").map(({ seconds }) => seconds)).toEqual([0, 20, 50, 60, 60]);
    const fractions = told.map(({ fraction }) => fraction);
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
    expect(fractions.at(-1)).toBe(1);
  });
});

describe("loading", () => {
  it("hands the model's facts to the engine and tells about it", async () => {
    const { whisper, native } = await load({}, { properties: { NUM_STREAMS: 1 }, warmUp: false });
    expect(native.transcriberLoads[0]).toMatchObject({
      device: "CPU",
      properties: { NUM_STREAMS: 1 },
      cacheDir: "",
      melBins: 80,
      maxPositions: 448,
      tokens: { endOfText: 256, startOfTranscript: 257, noTimestamps: 266, timestampBegin: 267, noSpeech: 265 },
      alignmentHeads: [
        [0, 0],
        [1, 1],
      ],
      warmUp: false,
    });
    expect(whisper.info).toMatchObject({
      languages: ["de", "en", "fr"],
      multilingual: true,
      melBins: 80,
      wordTimestamps: true,
      format: "openvino",
      device: "CPU",
    });
  });

  it("reports progress to the end", async () => {
    const stages: string[] = [];
    await load({}, { onProgress: ({ stage, fraction }) => void stages.push(`${stage} ${fraction}`) });
    expect(stages[0]).toBe("files 0");
    expect(stages.at(-1)).toBe("ready 1");
  });

  it("ends when its signal does, and what was opened is closed", async () => {
    const controller = new AbortController();
    const reason = new Error("no more");
    const loading = load(
      {},
      { signal: controller.signal, onProgress: ({ stage }) => stage === "compile" && controller.abort(reason) },
    );
    await expect(loading).rejects.toBe(reason);
  });

  it("an exception of the listener ends it", async () => {
    const loading = load(
      {},
      {
        onProgress: ({ stage }) => {
          if (stage === "warm-up") throw new Error("listener");
        },
      },
    );
    await expect(loading).rejects.toThrow("listener");
  });

  it("there is no public constructor", () => {
    const Constructor = WhisperPipeline as unknown as new () => WhisperPipeline;
    expect(() => new Constructor()).toThrow(/WhisperPipeline.load/);
  });
});
