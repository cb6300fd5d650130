import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { getNative } from "./native.js";
import type { NativeDecodeOptions, NativeTranscriber, NativeTranscriberOptions } from "./native-types.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FOLDER = `${ROOT}test/fixtures/whisper/tiny-ir`;

const options: NativeTranscriberOptions = {
  encoder: { xml: `${FOLDER}/openvino_encoder_model.xml`, bin: `${FOLDER}/openvino_encoder_model.bin` },
  decoder: { xml: `${FOLDER}/openvino_decoder_model.xml`, bin: `${FOLDER}/openvino_decoder_model.bin` },
  device: "CPU",
  properties: {},
  cacheDir: "",
  modelKey: "tiny-ir",
  melBins: 80,
  maxPositions: 448,
  tokens: { endOfText: 256, startOfTranscript: 257, noTimestamps: 266, timestampBegin: 267, noSpeech: 265 },
  alignmentHeads: [
    [0, 0],
    [1, 1],
  ],
  warmUp: false,
};

const decodeOptions: NativeDecodeOptions = {
  maxNewTokens: 24,
  temperature: 0,
  bestOf: 1,
  beamSize: 1,
  patience: 1,
  lengthPenalty: null,
  timestamps: true,
  maxInitialTimestamp: 50,
  suppressTokens: Int32Array.of(1, 2, 7, 257, 261, 262, 263, 264, 265),
  beginSuppressTokens: Int32Array.of(32, 256),
};

const PROMPT = Int32Array.of(257, 258, 262);

/** Ten seconds of a made sound, different for each `pitch`. */
function sound(pitch: number): Float32Array {
  return Float32Array.from({ length: 160_000 }, (_, index) => 0.3 * Math.sin(index * pitch) * Math.sin(index / 4000));
}

async function spectrogram(pitch: number) {
  const mel = getNative().createLogMel(80);
  await mel.append(sound(pitch));
  await mel.finish();
  return mel;
}

describe("the addon's transcriber", () => {
  let transcriber: NativeTranscriber;
  beforeAll(async () => {
    transcriber = await getNative().openTranscriber(options).promise;
  });
  afterAll(() => transcriber.close());

  async function encode(...pitches: number[]): Promise<number[]> {
    const windows = [];
    for (const pitch of pitches) windows.push({ mel: await spectrogram(pitch), start: 0, count: 1000 });
    return (await transcriber.encode(windows).promise).value;
  }

  const decodeJob = (windows: readonly number[], changes: Partial<NativeDecodeOptions> = {}) =>
    transcriber.decode(
      windows.map((window) => ({ window, prompt: PROMPT, sotIndex: 0, seed: 3 })),
      { ...decodeOptions, ...changes },
    );
  const decode = async (...parts: Parameters<typeof decodeJob>) => (await decodeJob(...parts).promise).value;

  it("tells what it is", () => {
    expect(transcriber.info).toMatchObject({ device: "CPU", vocabSize: 1768, windowFrames: 3000, maxPositions: 448 });
  });

  it("gives each window of a batch what it gets alone", async () => {
    const windows = await encode(0.05, 0.11, 0.23);
    const together = await decode(windows);
    for (const [index, window] of windows.entries()) {
      const [alone] = await decode([window]);
      expect(together[index]!.ids).toEqual(alone!.ids);
      expect(together[index]!.sumLogprob).toBeCloseTo(alone!.sumLogprob, 3);
      expect(alone!.ids.length).toBeGreaterThan(0);
    }
    transcriber.release(windows);
  });

  it("keeps the rules of times: first a time, at most 1 s; times never go back", async () => {
    const windows = await encode(0.07);
    const [{ ids } = { ids: Int32Array.of() }] = await decode(windows, { maxNewTokens: 200 });
    expect(ids[0]).toBeGreaterThanOrEqual(267);
    expect(ids[0]).toBeLessThanOrEqual(267 + 50);
    const times = Array.from(ids).filter((id) => id >= 267);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    transcriber.release(windows);
  });

  it("stops a job between steps, with what had come", async () => {
    const windows = await encode(0.05);
    const { job, promise } = decodeJob(windows, { maxNewTokens: 400, suppressTokens: Int32Array.of(256) });
    getNative().stop(job);
    const [stopped] = (await promise).value;
    expect(stopped!.reason).toBe("stopped");
    expect(stopped!.ids.length).toBeLessThan(400);
    const [whole] = await decode(windows);
    expect(whole!.ids.length).toBeGreaterThan(0);
    transcriber.release(windows);
  });

  it("gives each of several jobs at once its own times", async () => {
    const windows = await encode(0.05, 0.11);
    const run = (window: number, maxNewTokens: number) => decodeJob([window], { maxNewTokens }).promise;
    const alone = [await run(windows[0]!, 10), await run(windows[1]!, 40)];
    const started = performance.now();
    const together = await Promise.all([run(windows[0]!, 10), run(windows[1]!, 40)]);
    const passed = performance.now() - started;
    expect(together.map(({ timings }) => timings.steps)).toEqual(alone.map(({ timings }) => timings.steps));
    expect(together.map(({ timings }) => timings.encodeMs + timings.alignMs)).toEqual([0, 0]);
    const spent = together.reduce((sum, { timings }) => sum + timings.prefillMs + timings.decodeMs, 0);
    expect(spent).toBeGreaterThan(0);
    expect(spent).toBeLessThanOrEqual(passed); // nothing is counted twice
    transcriber.release(windows);
  });

  it("gives the same samples for the same seed", async () => {
    const windows = await encode(0.05);
    const sample = async () => (await decode(windows, { temperature: 0.9, bestOf: 3 }))[0]!.ids;
    expect(await sample()).toEqual(await sample());
    transcriber.release(windows);
  });

  it("aligns text: starts in order, a probability for each token", async () => {
    const windows = await encode(0.05);
    const ids = Int32Array.of(257, 258, 262, 266, 40, 41, 42, 256);
    const input = { window: windows[0]!, frames: 1000, ids, sotLength: 3 };
    const [alignment] = (await transcriber.align([input]).promise).value;
    expect(alignment!.starts).toHaveLength(4);
    expect(Array.from(alignment!.starts)).toEqual(Array.from(alignment!.starts).sort((a, b) => a - b));
    expect(alignment!.starts.at(-1)).toBeLessThan(500);
    expect(alignment!.probabilities).toHaveLength(3);
    transcriber.release(windows);
  });

  it("refuses windows that were given back, and goes on", async () => {
    const windows = await encode(0.05);
    transcriber.release(windows);
    await expect(decode(windows)).rejects.toMatchObject({ code: "option" });
    const again = await encode(0.05);
    expect((await decode(again))[0]!.ids.length).toBeGreaterThan(0);
    transcriber.release(again);
  });

  it("throws for what is no spectrogram, before anything runs", () => {
    expect(() => transcriber.encode([{ mel: {} as never, start: 0, count: 1 }])).toThrow(/mel/);
    expect(() => getNative().createLogMel(0)).toThrow(/bins/);
  });

  it("refuses a spectrogram of other bands by way of the configuration", async () => {
    await expect(getNative().openTranscriber({ ...options, melBins: 128 }).promise).rejects.toMatchObject({
      code: "model",
    });
  });

  it("refuses token ids beyond the vocabulary, and heads of layers that are not there", async () => {
    const tokens = { ...options.tokens, noTimestamps: 50_362 };
    await expect(getNative().openTranscriber({ ...options, tokens }).promise).rejects.toMatchObject({ code: "model" });
    const alignmentHeads: [number, number][] = [[7, 0]];
    await expect(getNative().openTranscriber({ ...options, alignmentHeads }).promise).rejects.toMatchObject({
      code: "model",
    });
  });

  it("ends running work when it is closed; later calls are refused", async () => {
    const other = await getNative().openTranscriber(options).promise;
    const mel = await spectrogram(0.05);
    const windows = (await other.encode([{ mel, start: 0, count: 1000 }]).promise).value;
    const run = other.decode(
      windows.map((window) => ({ window, prompt: PROMPT, sotIndex: 0, seed: 0 })),
      { ...decodeOptions, maxNewTokens: 440 },
    ).promise;
    // Work that has not begun yet is refused; work that has is stopped.
    const ended = run.then(
      ({ value: [decoding] }) => decoding!.reason,
      (error: unknown) => (error as { code: string }).code,
    );
    await other.close();
    expect(["stopped", "stop", "length", "disposed"]).toContain(await ended);
    await expect(other.encode([{ mel, start: 0, count: 1 }]).promise).rejects.toMatchObject({ code: "disposed" });
    await other.close();
  });

  it("does not keep a worker from being terminated in the middle of its work", async () => {
    const code = `
      const native = require(${JSON.stringify(`${ROOT}native/bin/pergola.node`)});
      const { parentPort, workerData } = require("node:worker_threads");
      native.setEventHandler(() => {});
      void (async () => {
        const transcriber = await native.openTranscriber(workerData.options).promise;
        const mel = native.createLogMel(80);
        await mel.append(new Float32Array(480000).fill(0.1));
        await mel.finish();
        parentPort.postMessage("running");
        for (;;) {
          const windows = (await transcriber.encode([{ mel, start: 0, count: 3000 }]).promise).value;
          transcriber.release(windows);
        }
      })();`;
    const worker = new Worker(code, { eval: true, workerData: { options } });
    await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
    await worker.terminate();
    expect((await encode(0.05)).length).toBe(1);
  });
});

describe("the addon's spectrogram", () => {
  it("gives the same values however the audio is cut, also when pieces are not waited for", async () => {
    const whole = await spectrogram(0.05);
    const samples = sound(0.05);
    const pieces = getNative().createLogMel(80);
    for (let from = 0; from < samples.length; from += 7001) void pieces.append(samples.slice(from, from + 7001));
    await pieces.finish();
    expect(pieces.frames).toBe(1000);
    expect(pieces.read(0, 1000, 1000, 0)).toEqual(whole.read(0, 1000, 1000, 0));
  });

  it("forgets frames on request and reads padding for them", async () => {
    const mel = await spectrogram(0.05);
    mel.discard(500);
    expect([mel.firstFrame, mel.frames]).toEqual([500, 1000]);
    expect(new Set(mel.read(400, 100, 100, -7))).toEqual(new Set([-7]));
    expect(mel.read(500, 1, 1, -7)[0]).not.toBe(-7);
  });
});
