import { describe, expect, it } from "vitest";
import type { FakeTranscriberScript } from "../testing/fake-native.js";
import { at, babble, joined, say, silence, TINY, useFakeWhispers } from "../testing/whisper-fixture.js";

const { load } = useFakeWhispers();
const ENGLISH = { sampleRate: 16_000, language: "en" } as const;

/** Says one sentence for each window, by the frame at which it begins. */
function sentences(texts: Record<number, number[]>): FakeTranscriberScript {
  return { decode: ({ window }) => ({ ids: texts[window.start] ?? [] }) };
}

const twoSegments = [at(0), ...say(" One."), at(2), at(2.5), ...say(" Two."), at(4)];

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
