import { describe, expect, it } from "vitest";
import { DisposedError, OptionError } from "../../core/errors.js";
import type { FakeTranscriberScript } from "../../testing/fake-native.js";
import { babble, joined, say, silence, TINY, useFakeWhispers } from "../../testing/whisper-fixture.js";
import type { LiveEvent } from "./live-event.js";

const { load } = useFakeWhispers();
const LIVE = { sampleRate: 16_000, language: "en", pause: 0.5 } as const;

/** Audio in tenths of a second; `before` is awaited in front of each. */
async function* microphone(audio: Float32Array, before: () => Promise<void> = turn): AsyncGenerator<Float32Array> {
  for (let at = 0; at < audio.length; at += 1600) {
    await before();
    yield audio.subarray(at, at + 1600);
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Long enough for the scripted model to answer whatever it is asked. */
async function slowly(): Promise<void> {
  for (let turns = 0; turns < 80; turns++) await turn();
}

const SENTENCE = " one two three four five six";

/** Hears a word a second, in what its spectrogram was given; goes on after a prefix. */
function wordEachSecond(heard: () => number): FakeTranscriberScript {
  return {
    decode: ({ prompt }) => {
      const prefix = prompt.slice(prompt.indexOf(TINY.noTimestamps) + 1);
      const words = SENTENCE.split(" ")
        .slice(0, heard() + 1)
        .join(" ");
      return { ids: say(words).slice(prefix.length) };
    },
  };
}

async function collect(events: AsyncIterable<LiveEvent>): Promise<LiveEvent[]> {
  const all: LiveEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const brief = ({ type, ...event }: LiveEvent): string => (type === "partial" ? event.text : `${event.text}!`);

describe("live", () => {
  it("tells an utterance while it grows and once when it has ended", async () => {
    let pieces = 0;
    const { whisper, native } = await load(wordEachSecond(() => Math.floor(pieces / 10)));
    const audio = joined(babble(4), silence(1));
    const stream = whisper.live(
      microphone(audio, async () => {
        pieces++;
        await slowly();
      }),
      LIVE,
    );
    const events = await collect(stream);
    expect(events.map(brief)).toEqual(["one", "one two", "one two three", "one two three four", "one two three four!"]);
    expect(events.map((event) => (event.type === "partial" ? event.stable : ""))).toEqual([
      "",
      "one",
      "one two",
      "one two three",
      "",
    ]);
    expect(events.at(-1)).toMatchObject({
      type: "final",
      start: 0,
      segment: { text: " one two three four", language: "en" },
    });
    expect(events.at(-1)!.end).toBeGreaterThan(3.9);
    // What is certain is handed to the decoder, but for the final, which is heard afresh.
    const [partial, final] = native.transcriber.decodes.slice(-2);
    expect([...final!.inputs[0]!.prompt]).toHaveLength(4);
    expect([...partial!.inputs[0]!.prompt].slice(4)).toEqual(say(" one two"));
    expect(partial!.options).toMatchObject({ timestamps: false, beginSuppressTokens: new Int32Array(0) });
    expect(await stream.result).toMatchObject({
      duration: 5,
      utterances: 1,
      language: "en",
      languageProbability: 1,
      finishReason: "stop",
    });
  });

  it("what is stable never changes, and finals come in order", async () => {
    const { whisper } = await load({
      // A model that changes its mind all the time.
      decode: ({ prompt, seed }) => {
        const prefix = prompt.slice(prompt.indexOf(TINY.noTimestamps) + 1);
        const text = say([" a b c d", " a b x", " a b c d e f", " q"][seed % 4]!);
        return { ids: prefix.length > 0 ? say(` more${seed}`) : text };
      },
    });
    const audio = joined(...Array.from({ length: 4 }, () => joined(babble(5), silence(1))));
    const events = await collect(whisper.live(microphone(audio, slowly), LIVE));
    let stable = "";
    let start = 0;
    for (const event of events) {
      expect(event.start).toBeGreaterThanOrEqual(start);
      start = event.start;
      expect(event.text.startsWith(stable)).toBe(true);
      if (event.type === "partial") {
        expect(event.text.startsWith(event.stable)).toBe(true);
        expect(event.stable.startsWith(stable)).toBe(true);
        stable = event.stable;
      } else {
        stable = "";
      }
    }
    expect(events.filter(({ type }) => type === "final")).toHaveLength(4);
    expect(events.filter(({ type }) => type === "partial").length).toBeGreaterThan(8);
  });

  it("a final that contradicts what is certain is written again, bound to it", async () => {
    let pieces = 0;
    const { whisper, native } = await load({
      decode: ({ prefixLength }) => {
        if (prefixLength > 0) return { ids: say(" there.") };
        return { ids: say(pieces < 32 ? " Hello" : " Yellow there") };
      },
    });
    const stream = whisper.live(
      microphone(joined(babble(3), silence(1)), async () => {
        pieces++;
        await slowly();
      }),
      LIVE,
    );
    const events = await collect(stream);
    expect(events.at(-1)).toMatchObject({ type: "final", text: "Hello there." });
    expect(native.transcriber.decodes.slice(-2).map(({ inputs }) => inputs[0]!.prefixLength)).toEqual([0, 6]);
  });

  it("leaves partials out where decoding is slower than speech, never finals", async () => {
    const { whisper, native } = await load({
      decode: () => ({ ids: say(" this takes the model a good while to write") }),
    });
    const audio = joined(...Array.from({ length: 6 }, () => joined(babble(3), silence(1))));
    const events = await collect(whisper.live(microphone(audio), LIVE));
    expect(events.filter(({ type }) => type === "final")).toHaveLength(6);
    expect(native.transcriber.decodes.length).toBeLessThan(6 * 3);
  });

  it("pauses reading when finals wait, so that nothing piles up", async () => {
    const { whisper, native } = await load({ decode: () => ({ ids: say(" yes") }) });
    let read = 0;
    const audio = joined(...Array.from({ length: 20 }, () => joined(babble(1), silence(1))));
    native.transcriber.hold();
    const stream = whisper.live(
      microphone(audio, async () => {
        read++;
        await turn();
      }),
      LIVE,
    );
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(read).toBeLessThan(120);
    native.transcriber.letGo();
    const events = await collect(stream);
    expect(events.filter(({ type }) => type === "final")).toHaveLength(20);
  });

  it("drops partials that a slow reader has not asked for", async () => {
    let pieces = 0;
    const { whisper } = await load(wordEachSecond(() => Math.floor(pieces / 10)));
    const stream = whisper.live(
      microphone(joined(babble(5), silence(1)), async () => {
        pieces++;
        await slowly();
      }),
      LIVE,
    );
    await stream.result;
    const events = await collect(stream);
    expect(events.map(({ type }) => type)).toEqual(["partial", "final"]);
  });

  it("partialEvery: 0 tells finals only", async () => {
    const { whisper, native } = await load({ decode: () => ({ ids: say(" yes") }) });
    const audio = joined(babble(4), silence(1), babble(4), silence(1));
    const events = await collect(whisper.live(microphone(audio, slowly), { ...LIVE, partialEvery: 0 }));
    expect(events.map(brief)).toEqual(["yes!", "yes!"]);
    expect(native.transcriber.decodes).toHaveLength(2);
  });

  it("tells nothing of sounds that are no speech to the model", async () => {
    const { whisper } = await load({ decode: () => ({ ids: say(" Thanks."), noSpeechProb: 0.9, avgLogprob: -2 }) });
    const stream = whisper.live(microphone(joined(babble(4), silence(1)), slowly), LIVE);
    expect(await collect(stream)).toEqual([]);
    expect(await stream.result).toMatchObject({ utterances: 0, duration: 5 });
  });

  it("takes back a partial that was no speech after all with an empty final", async () => {
    let decodings = 0;
    const { whisper } = await load({
      decode: () => ({ ids: say(" Thanks."), ...(++decodings > 1 ? { noSpeechProb: 0.9, avgLogprob: -2 } : {}) }),
    });
    const events = await collect(whisper.live(microphone(joined(babble(2.2), silence(1)), slowly), LIVE));
    expect(events.at(-1)).toMatchObject({ type: "final", text: "", segment: { text: "", tokens: [] } });
  });

  it("a partial that fails the thresholds is not told; a final is tried at higher temperatures", async () => {
    const { whisper, native } = await load({
      decode: ({ options }) => ({ ids: say(" yes"), avgLogprob: options.temperature === 0 ? -2 : -0.4 }),
    });
    const events = await collect(whisper.live(microphone(joined(babble(3), silence(1)), slowly), LIVE));
    expect(events.map(brief)).toEqual(["yes!"]);
    expect(native.transcriber.decodes.map(({ options }) => options.temperature).slice(-2)).toEqual([0, 0.2]);
  });

  it("the end of the audio ends the utterance", async () => {
    const { whisper } = await load({ decode: () => ({ ids: say(" yes") }) });
    const events = await collect(whisper.live(microphone(babble(2)), { ...LIVE, partialEvery: 0 }));
    expect(events).toMatchObject([{ type: "final", text: "yes", end: 2 }]);
  });

  it("finds the language once, or for each utterance", async () => {
    const script: FakeTranscriberScript = {
      decode: () => ({ ids: say(" ja") }),
      detect: (_, ids) => ({ probabilities: ids.map((id) => (id === TINY.de ? 0.9 : 0.05)) }),
    };
    const audio = joined(babble(2), silence(1), babble(2), silence(1));
    const options = { sampleRate: 16_000, partialEvery: 0, pause: 0.5 };
    const { whisper, native } = await load(script);
    const stream = whisper.live(microphone(audio), options);
    await collect(stream);
    expect((await stream.result).language).toBe("de");
    expect(native.transcriber.detections).toBe(1);
    await collect(whisper.live(microphone(audio), { ...options, detectLanguagePerWindow: true }));
    expect(native.transcriber.detections).toBe(3);
  });

  it("a first sound does not settle the language for all that follows", async () => {
    let utterances = 0;
    const { whisper, native } = await load({
      decode: () => ({ ids: say(" ja") }),
      detect: (_, ids) => {
        const [code, probability] = utterances++ === 0 ? [TINY.en, 0.6] : [TINY.de, 0.9];
        return { probabilities: ids.map((id) => (id === code ? probability : 0.05)) };
      },
    });
    const audio = joined(babble(0.3), silence(1.2), babble(3), silence(1), babble(3), silence(1));
    const stream = whisper.live(microphone(audio), { sampleRate: 16_000, partialEvery: 0, pause: 0.5 });
    await collect(stream);
    const languages = native.transcriber.decodes.map(({ inputs }) => inputs[0]!.prompt[1]);
    expect(languages).toEqual([TINY.en, TINY.de, TINY.de]);
    expect((await stream.result).language).toBe("de");
  });

  it("words have times of the stream", async () => {
    const { whisper } = await load({ decode: () => ({ ids: say(" ja ja") }) });
    const audio = joined(silence(3), babble(2), silence(1));
    const events = await collect(whisper.live(microphone(audio), { ...LIVE, partialEvery: 0, timestamps: "word" }));
    const [final] = events;
    const words = final!.type === "final" ? final!.segment.words! : [];
    expect(words.map(({ word }) => word)).toEqual([" ja", " ja"]);
    expect(words[0]!.start).toBeGreaterThan(2.4);
    expect(words[1]!.end).toBeLessThan(6);
  });

  it("prompt, hotwords and previous text stand before each utterance", async () => {
    const { whisper, native } = await load({ decode: () => ({ ids: say(" ja") }) });
    const audio = joined(babble(2), silence(1), babble(2), silence(1));
    await collect(
      whisper.live(microphone(audio), {
        ...LIVE,
        partialEvery: 0,
        prompt: "P",
        hotwords: "H",
        conditionOnPreviousText: true,
      }),
    );
    const start = [TINY.startOfTranscript, TINY.en, TINY.transcribe, TINY.noTimestamps];
    expect(native.transcriber.decodes.map(({ inputs }) => [...inputs[0]!.prompt])).toEqual([
      [TINY.startOfPrevious, ...say(" H P"), ...start],
      [TINY.startOfPrevious, ...say(" H P ja"), ...start],
    ]);
  });
});

describe("ends", () => {
  const endless = async function* (): AsyncGenerator<Float32Array> {
    for (;;) {
      await turn();
      yield joined(babble(1), silence(1));
    }
  };

  it("break ends listening", async () => {
    const { whisper, native } = await load({ decode: () => ({ ids: say(" yes") }) });
    const stream = whisper.live(endless(), LIVE);
    let finals = 0;
    for await (const { type } of stream) if (type === "final" && ++finals === 3) break;
    expect(await stream.result).toMatchObject({ finishReason: "stop" });
    expect(native.transcriber).toMatchObject({ windowsHeld: 0, jobsRunning: 0 });
  });

  it("stop() does not wait for chunks that do not come", async () => {
    const { whisper } = await load();
    const never = (async function* (): AsyncGenerator<Float32Array> {
      yield babble(0.5);
      await new Promise(() => undefined);
    })();
    const stream = whisper.live(never, LIVE);
    await new Promise((resolve) => setTimeout(resolve, 10));
    await stream.stop();
    expect(await stream.result).toMatchObject({ utterances: 0 });
  });

  /** Speech of 3 s, then nothing more comes; `heard` resolves once all of it was taken. */
  function speechThenNothing(): { source: AsyncIterable<Float32Array>; heard: Promise<void> } {
    let taken = (): void => undefined;
    const heard = new Promise<void>((resolve) => (taken = resolve));
    const source = (async function* (): AsyncGenerator<Float32Array> {
      yield* microphone(babble(3));
      taken();
      await new Promise(() => undefined);
    })();
    return { source, heard };
  }

  it("stop() delivers what is being said as its final", async () => {
    const { whisper } = await load({ decode: () => ({ ids: say(" yes.") }) });
    const { source, heard } = speechThenNothing();
    const stream = whisper.live(source, { ...LIVE, partialEvery: 0 });
    const events = collect(stream);
    await heard;
    await stream.stop();
    expect(await events).toMatchObject([{ type: "final", text: "yes.", start: 0, end: 3 }]);
    expect(await stream.result).toMatchObject({ text: "yes.", utterances: 1, duration: 3, finishReason: "stop" });
  });

  it("stop() in the middle of a partial does not wait for it, but for the final", async () => {
    const { whisper, native } = await load({ decode: () => ({ ids: say(" a long text".repeat(12)) }) });
    const { source } = speechThenNothing();
    const stream = whisper.live(source, { ...LIVE, temperature: 0 });
    while (native.transcriber.decodeSteps < 5) await turn();
    await stream.stop();
    const { text, utterances } = await stream.result;
    expect(text).toBe(" a long text".repeat(12).trim());
    expect(utterances).toBe(1);
    expect(native.transcriber.decodeSteps).toBeLessThan(2 * text.length);
  });

  it("break waits for the final, which the result holds", async () => {
    const { whisper } = await load({ decode: () => ({ ids: say(" yes.") }) });
    const { source } = speechThenNothing();
    const stream = whisper.live(source, LIVE);
    for await (const { type } of stream) if (type === "partial") break;
    expect(await stream.result).toMatchObject({ text: "yes.", utterances: 1 });
  });

  it("cancel() and a signal write nothing more", async () => {
    const { whisper, native } = await load({ decode: () => ({ ids: say(" yes.") }) });
    const { source, heard } = speechThenNothing();
    const stream = whisper.live(source, { ...LIVE, partialEvery: 0 });
    await heard;
    await stream.cancel();
    expect(await stream.result).toMatchObject({ text: "", utterances: 0, finishReason: "cancelled" });
    expect(native.transcriber.decodes).toEqual([]);
  });

  it("the result holds all that was said", async () => {
    let utterances = 0;
    const { whisper } = await load({ decode: () => ({ ids: say([" One.", " Two."][utterances++]!) }) });
    const audio = joined(babble(2), silence(1), babble(2));
    const { result } = whisper.live(microphone(audio), { ...LIVE, partialEvery: 0 });
    expect((await result).text).toBe("One. Two.");
  });

  it.each([
    ["in the middle of a sentence", [3], ["yes."]],
    ["behind one and in the middle of the next", [3, 2], ["yes.", "yes."]],
  ])("a source that fails %s: finals for what was heard come first", async (_, lengths, finals) => {
    const { whisper } = await load({ decode: () => ({ ids: say(" yes.") }) });
    const audio = joined(...lengths.flatMap((seconds) => [silence(1), babble(seconds)]));
    const broken = (async function* (): AsyncGenerator<Float32Array> {
      yield* microphone(audio);
      throw new Error("unplugged");
    })();
    const stream = whisper.live(broken, { ...LIVE, partialEvery: 0 });
    const texts: string[] = [];
    const reading = (async () => {
      for await (const event of stream) texts.push(event.text);
    })();
    await expect(reading).rejects.toThrow("unplugged");
    expect(texts).toEqual(finals);
    await expect(stream.result).rejects.toThrow("unplugged");
  });

  it("a signal rejects with its reason, dispose with DisposedError", async () => {
    const { whisper } = await load({ decode: () => ({ ids: say(" yes") }) });
    const controller = new AbortController();
    const reason = new Error("enough");
    const aborted = whisper.live(endless(), { ...LIVE, signal: controller.signal });
    const disposed = whisper.live(endless(), LIVE);
    const outcomes = Promise.all([
      expect(aborted.result).rejects.toBe(reason),
      expect(disposed.result).rejects.toThrow(DisposedError),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    controller.abort(reason);
    await aborted.ended;
    await whisper.dispose();
    await outcomes;
  });

  it("errors of the source and of the engine come through the stream", async () => {
    const { whisper } = await load({
      decode: () => {
        throw new Error("engine");
      },
    });
    const broken = (async function* (): AsyncGenerator<Float32Array> {
      yield babble(0.1);
      throw new Error("source");
    })();
    await expect(whisper.live(broken, LIVE).result).rejects.toThrow("source");
    await expect(whisper.live(endless(), LIVE).result).rejects.toThrow("engine");
  });

  it("options are checked where live() is called", async () => {
    const { whisper } = await load();
    expect(() => whisper.live(endless(), { ...LIVE, partialEvery: -1 })).toThrow(OptionError);
    expect(() => whisper.live(endless(), { ...LIVE, pause: 0 })).toThrow(OptionError);
    expect(() => whisper.live(endless(), { ...LIVE, mode: "batched" } as object)).toThrow(/Unknown option "mode"/);
    await expect(whisper.live(babble(1)).result).rejects.toMatchObject({ path: "sampleRate" });
  });
});
