import { describe, expect, it } from "vitest";
import type { FakeTranscriberScript } from "../testing/fake-native.js";
import { at, babble, joined, say, silence, TINY, useFakeWhispers } from "../testing/whisper-fixture.js";

const { load } = useFakeWhispers();
const BATCHED = { sampleRate: 16_000, language: "en", batchSize: 4 } as const;

/** Four stretches of speech of 20 s, 10 s apart: four windows. */
const audio = joined(babble(20), silence(10), babble(20), silence(10), babble(20), silence(10), babble(20));
const STARTS = [0, 2970, 5970, 8970];

/** Text for a window by its number; a window that begins elsewhere is heard again. */
function script(texts: (index: number, start: number) => number[]): FakeTranscriberScript {
  return {
    decode: ({ window }) => {
      const nearest = STARTS.findIndex((start) => Math.abs(start - window.start) < 50);
      return { ids: texts(nearest, window.start) };
    },
  };
}

const whole = (text: string): number[] => [at(0.3), ...say(text), at(20.2)];

describe("batched mode", () => {
  it("decodes windows cut at pauses together, without the pauses", async () => {
    const { whisper, native } = await load(script((index) => whole(` ${"ABCD"[index]!}.`)));
    const { text, segments, metrics } = await whisper.transcribe(audio, BATCHED);
    expect(text).toBe("A. B. C. D.");
    expect(metrics).toMatchObject({ windows: 4, fallbacks: 0 });
    expect(native.transcriber.decodes.map(({ inputs }) => inputs.length)).toEqual([4]);
    const starts = native.transcriber.encoded.map(({ start }) => start);
    for (const [index, start] of starts.entries()) expect(Math.abs(start - STARTS[index]!)).toBeLessThan(50);
    for (const [index, { start }] of segments.entries()) expect(start).toBeCloseTo(starts[index]! / 100, 2);
  });

  it("the batch is as large as asked for, and segments come in order", async () => {
    const { whisper, native } = await load(script((index) => whole(` ${"ABCD"[index]!}.`)));
    const seen: string[] = [];
    const stream = whisper.stream(audio, { ...BATCHED, batchSize: 3 });
    for await (const { text } of stream) seen.push(text);
    expect(seen).toEqual([" A.", " B.", " C.", " D."]);
    expect(native.transcriber.decodes.map(({ inputs }) => inputs.length)).toEqual([3, 1]);
  });

  it("only windows that fail are decoded again", async () => {
    const { whisper, native } = await load({
      decode: ({ window, options }) => ({
        ids: whole(" A."),
        avgLogprob: window.start > 5000 && options.temperature < 0.4 ? -2 : -0.3,
      }),
    });
    const { metrics, segments } = await whisper.transcribe(audio, BATCHED);
    expect(native.transcriber.decodes.map(({ inputs }) => inputs.length)).toEqual([4, 2, 2]);
    expect(segments.map(({ temperature }) => temperature)).toEqual([0, 0, 0.4, 0.4]);
    expect(metrics).toMatchObject({ windows: 4, fallbacks: 4 });
  });

  it("a text that does not end gets the end of its window", async () => {
    const tail = [at(0), ...say(" One."), at(5), at(6), ...say(" Two")];
    const { whisper } = await load(script((index) => (index === 0 ? tail : [])));
    const { segments } = await whisper.transcribe(audio, BATCHED);
    expect(segments.map(({ start, text }) => [start, text])).toEqual([
      [0, " One."],
      [6, " Two"],
    ]);
    expect(segments[1]!.end).toBeCloseTo(20.3, 0);
  });

  describe("speech that the text does not cover", () => {
    const gap = joined(babble(8), silence(1), babble(11), silence(30), babble(10));
    const early = [at(0), ...say(" One."), at(8.4), at(8.4)];
    const three = [at(0), ...say(" Three."), at(9)];

    it("is written by going on after it, as one text", async () => {
      const { whisper, native } = await load({
        decode: ({ window, prefixLength }) => {
          if (window.start > 0) return { ids: three };
          return { ids: prefixLength > 0 ? [at(9), ...say(" Two."), at(20)] : early };
        },
      });
      const { text, segments } = await whisper.transcribe(gap, BATCHED);
      expect(text).toBe("One. Two. Three.");
      expect(segments[1]).toMatchObject({ text: " Two.", start: 9, end: 20 });
      expect(native.transcriber.encoded).toHaveLength(2);
      expect([...native.transcriber.decodes[1]!.inputs[0]!.prompt].slice(3)).toEqual(early);
    });

    it("is heard again from a pause on where nothing follows", async () => {
      const { whisper, native } = await load({
        decode: ({ window, prefixLength }) => {
          if (prefixLength > 0) return { ids: [] };
          if (window.start > 1000) return { ids: three };
          return { ids: window.start > 0 ? [at(0), ...say(" Two."), at(11)] : early };
        },
      });
      const { text } = await whisper.transcribe(gap, BATCHED);
      expect(text).toBe("One. Two. Three.");
      const again = native.transcriber.encoded.find(({ start }) => start > 0 && start < 1000)!;
      expect(again.start).toBeGreaterThanOrEqual(800);
      expect(again.start).toBeLessThanOrEqual(900);
      // It ends where its window ends.
      expect(again.start + again.count).toBeLessThan(2100);
    });
  });

  it("what a window had no room for is heard again", async () => {
    const { whisper, native } = await load({
      decode: ({ window }) => ({
        ids:
          window.start === 0 ? [at(0), ...say(" One."), at(10), at(10), ...say(" and so on".repeat(9))] : whole(" X."),
      }),
    });
    const { text } = await whisper.transcribe(audio, { ...BATCHED, maxNewTokens: 30 });
    expect(text).toBe("One. X. X. X. X.");
    expect(native.transcriber.encoded).toHaveLength(5);
  });

  it("words are found for all windows of a batch at once", async () => {
    const { whisper, native } = await load(script((index) => whole(` ${"ABCD"[index]!}.`)));
    const { segments } = await whisper.transcribe(audio, { ...BATCHED, timestamps: "word" });
    expect(native.transcriber.aligned).toHaveLength(4);
    for (const { start, end, words, text } of segments) {
      expect(words!.map(({ word }) => word).join("")).toBe(text);
      for (const word of words!) {
        expect(word.start).toBeGreaterThanOrEqual(start);
        expect(word.end).toBeLessThanOrEqual(end);
      }
    }
  });

  it("without timestamps each window is a segment", async () => {
    const { whisper, native } = await load(script((index) => say(` ${"ABCD"[index]!}.`)));
    const { segments } = await whisper.transcribe(audio, { ...BATCHED, timestamps: false });
    expect(native.transcriber.decodes[0]!.options.timestamps).toBe(false);
    expect(segments.map(({ text }) => text)).toEqual([" A.", " B.", " C.", " D."]);
    expect(segments[1]!.start).toBeCloseTo(29.7, 0);
    expect(segments[1]!.end).toBeCloseTo(50.3, 0);
  });

  it("the prompt stands before every window", async () => {
    const { whisper, native } = await load(script(() => []));
    await whisper.transcribe(audio, { ...BATCHED, prompt: "Hi" });
    for (const { prompt } of native.transcriber.decodes[0]!.inputs) {
      expect([...prompt].slice(0, 4)).toEqual([TINY.startOfPrevious, ...say(" Hi")]);
    }
  });

  it("finds out the language of the first window, or of each", async () => {
    const { whisper, native } = await load({
      ...script(() => whole(" A.")),
      detect: ({ start }, ids) => ({
        probabilities: ids.map((id) => (id === (start < 5000 ? TINY.de : TINY.fr) ? 0.9 : 0.05)),
      }),
    });
    const options = { sampleRate: 16_000, batchSize: 4 };
    expect(await whisper.transcribe(audio, options)).toMatchObject({ language: "de" });
    expect(native.transcriber.decodes[0]!.inputs.map(({ prompt }) => prompt[1])).toEqual(Array(4).fill(TINY.de));
    const { segments } = await whisper.transcribe(audio, { ...options, detectLanguagePerWindow: true });
    expect(segments.map(({ language }) => language)).toEqual(["de", "de", "fr", "fr"]);
  });

  /** A model that finds one language where the audio is still a noise, and is sure of another in the speech behind it. */
  const noiseThenGerman = (noiseUntil: number, probability: number): FakeTranscriberScript => ({
    decode: () => ({ ids: whole(" A.") }),
    detect: ({ start }, ids) => {
      const [code, sure] = start < noiseUntil ? [TINY.en, probability] : [TINY.de, 0.95];
      return { probabilities: ids.map((id) => (id === code ? sure : (1 - sure) / (ids.length - 1))) };
    },
  });

  it("one window of a batch does not decide for all what is spoken", async () => {
    // Half a second of something, then three windows of speech.
    const noisy = joined(babble(0.5), silence(29), babble(20), silence(10), babble(20), silence(10), babble(20));
    const { whisper, native } = await load(noiseThenGerman(1000, 0.6));
    const { language } = await whisper.transcribe(noisy, { sampleRate: 16_000, batchSize: 4 });
    expect(language).toBe("de");
    const prompts = native.transcriber.decodes.flatMap(({ inputs }) => inputs.map(({ prompt }) => prompt[1]));
    expect(prompts.length).toBeGreaterThan(2);
    expect(new Set(prompts)).toEqual(new Set([TINY.de]));
  });

  it("where the first batch leaves it open, speech behind it is listened to", async () => {
    const { whisper, native } = await load(noiseThenGerman(2000, 0.4));
    const { language } = await whisper.transcribe(audio, { sampleRate: 16_000, mode: "batched", batchSize: 1 });
    expect(language).toBe("de");
    expect(native.transcriber.decodes[0]!.inputs[0]!.prompt[1]).toBe(TINY.de);
    // Four windows, and one that was only listened to.
    expect(native.transcriber.encoded).toHaveLength(5);
  });

  it("short audio is cut at its pauses as well", async () => {
    const { whisper, native } = await load({ decode: () => ({ ids: [at(0), ...say(" A."), at(5)] }) });
    const { segments } = await whisper.transcribe(joined(silence(12), babble(5), silence(3)), BATCHED);
    expect(segments).toHaveLength(1);
    expect(segments[0]!.start).toBeGreaterThan(11.5);
    expect(segments[0]!.start).toBeLessThan(12.1);
    expect(segments[0]!.end).toBeLessThan(17.5);
    expect(native.transcriber.encoded).toHaveLength(1);
  });

  it("stop() keeps what is before the first unfinished window", async () => {
    const long = say(" and so on".repeat(15));
    const { whisper, native } = await load(
      script((index) => (index === 0 ? whole(" A.") : [at(0), ...say(" B."), at(2), at(2), ...long])),
    );
    const stream = whisper.stream(audio, BATCHED);
    while (native.transcriber.decodeSteps < 30) await new Promise((resolve) => setImmediate(resolve));
    await stream.stop();
    const { text, finishReason } = await stream.result;
    expect([text, finishReason]).toEqual(["A. B.", "stop"]);
  });

  it("silence is not even encoded, short audio is one window", async () => {
    const { whisper, native } = await load(script(() => whole(" A.")));
    expect((await whisper.transcribe(silence(60), BATCHED)).text).toBe("");
    expect(native.transcriber.encoded).toHaveLength(0);
    await whisper.transcribe(babble(10), BATCHED);
    expect(native.transcriber.encoded).toMatchObject([{ start: 0, count: 3000 }]);
  });
});
