import { describe, expect, it } from "vitest";
import { DisposedError, MediaError, OptionError } from "../core/errors.js";
import { fakeNativeError, type FakeTranscriberScript } from "../testing/fake-native.js";
import { at, babble, say, useFakeWhispers } from "../testing/whisper-fixture.js";
import type { TranscriptSegment } from "./transcript.js";
import type { TranscriptionProgress } from "./whisper-options.js";
import { WhisperPipeline } from "./whisper-pipeline.js";

const { load } = useFakeWhispers();
const RATE = { sampleRate: 16_000 } as const;
const ENGLISH = { ...RATE, language: "en" } as const;

/** Says one sentence for each window, by the frame at which it begins. */
function sentences(texts: Record<number, number[]>): FakeTranscriberScript {
  return { decode: ({ window }) => ({ ids: texts[window.start] ?? [] }) };
}

const twoSegments = [at(0), ...say(" One."), at(2), at(2.5), ...say(" Two."), at(4)];

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

  it("several at once each count their own windows, tokens and times", async () => {
    const { whisper } = await load(script);
    const measure = async (seconds: number) => {
      const { metrics } = await whisper.transcribe(babble(seconds), ENGLISH);
      const { encode, prefill, decode } = metrics.stages;
      return { windows: metrics.windows, encode, prefill, decode };
    };
    const alone = [await measure(30), await measure(90)];
    expect(alone[0]!.encode).toBe(10); // the scripted model takes that for a window
    expect(alone[1]!.windows).toBe(3);
    expect(await Promise.all([measure(30), measure(90)])).toEqual(alone);
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
    while (native.transcriber.decodeSteps < 20) await new Promise((resolve) => setImmediate(resolve));
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
