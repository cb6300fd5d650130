import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { getNative } from "../core/native.js";
import type { NativeAlignment, NativeDecoding, NativeTranscriber } from "../core/native-types.js";
import { resolveWhisperModel, type WhisperModelSource } from "./whisper-model.js";

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../test/fixtures/whisper/${name}`, import.meta.url));
const golden = JSON.parse(readFileSync(fixture("golden/random.json"), "utf8")) as {
  cases: Record<string, Record<"hf_generate_no_timestamps" | "hf_generate_timestamps", { ids: number[] }>>;
};

/** `<|startoftranscript|><|en|><|transcribe|>` and `<|notimestamps|>` of the fixture. */
const [PROMPT, NO_TIMESTAMPS] = [[257, 258, 262], 266];

let cacheFolder: string;
beforeAll(async () => void (cacheFolder = await mkdtemp(join(tmpdir(), "pergola-converted-"))));
afterAll(() => rm(cacheFolder, { recursive: true, force: true }));

function open({
  encoder,
  decoder,
  modelKey,
  config,
  generationConfig,
}: WhisperModelSource): Promise<NativeTranscriber> {
  return getNative().openTranscriber({
    ...{ encoder, decoder, modelKey, device: "CPU", cacheDir: "", warmUp: false },
    // As the pipeline sets them: exact rather than fast.
    properties: { INFERENCE_PRECISION_HINT: "f32", DYNAMIC_QUANTIZATION_GROUP_SIZE: 0 },
    melBins: config["num_mel_bins"] as number,
    maxPositions: config["max_target_positions"] as number,
    tokens: { endOfText: 256, startOfTranscript: 257, noTimestamps: NO_TIMESTAMPS, timestampBegin: 267, noSpeech: 265 },
    alignmentHeads: generationConfig["alignment_heads"] as [number, number][],
  }).promise;
}

/** A sound with some structure, 8 s at 16 kHz. */
function sweep(): Float32Array {
  return Float32Array.from({ length: 128_000 }, (_, index) => {
    const time = index / 16_000;
    return 0.3 * Math.sin(2 * Math.PI * (200 + 150 * time) * time) * (0.6 + 0.4 * Math.sin(9 * time));
  });
}

interface Heard {
  plain: NativeDecoding;
  timed: NativeDecoding;
  languages: number[];
  words: NativeAlignment;
}

async function listen(source: WhisperModelSource, samples: Float32Array): Promise<Heard> {
  const transcriber = await open(source);
  try {
    const mel = getNative().createLogMel(80);
    await mel.append(samples);
    await mel.finish();
    const { value } = await transcriber.encode([{ mel, start: 0, count: mel.frames }]).promise;
    const window = value[0]!;
    const decode = async (timestamps: boolean): Promise<NativeDecoding> => {
      const prompt = Int32Array.from(timestamps ? PROMPT : [...PROMPT, NO_TIMESTAMPS]);
      const { promise } = transcriber.decode([{ window, prompt, sotIndex: 0, seed: 1 }], {
        ...{ maxNewTokens: 24, temperature: 0, bestOf: 1, beamSize: 1, patience: 1, lengthPenalty: null },
        ...{ timestamps, maxInitialTimestamp: 50 },
        suppressTokens: Int32Array.from(source.generationConfig["suppress_tokens"] as number[]),
        beginSuppressTokens: Int32Array.from(source.generationConfig["begin_suppress_tokens"] as number[]),
      });
      return (await promise).value[0]!;
    };
    const [detected] = (await transcriber.detect([window], Int32Array.of(258, 259, 260)).promise).value;
    const ids = Int32Array.from([...PROMPT, NO_TIMESTAMPS, 40, 41, 42, 43, 256]);
    const input = { window, frames: mel.frames, ids, sotLength: PROMPT.length };
    const [words] = (await transcriber.align([input]).promise).value;
    return {
      plain: await decode(false),
      timed: await decode(true),
      languages: [...detected!.probabilities],
      words: words!,
    };
  } finally {
    await transcriber.close();
  }
}

const resolve = (name: string, weights?: "f16" | "int8"): Promise<WhisperModelSource> =>
  resolveWhisperModel(fixture(name), { cacheFolder, weights });

describe("converted checkpoints against optimum-intel's export of the same weights", () => {
  let reference: Heard;
  beforeAll(async () => void (reference = await listen(await resolve("tiny-ir"), sweep())));

  it.each(["tiny-hf", "ct2-tiny"])("%s hears the same", async (name) => {
    const heard = await listen(await resolve(name), sweep());
    for (const kind of ["plain", "timed"] as const) {
      expect([...heard[kind].ids]).toEqual([...reference[kind].ids]);
      expect(heard[kind].sumLogprob).toBeCloseTo(reference[kind].sumLogprob, 3);
      expect(heard[kind].noSpeechProb).toBeCloseTo(reference[kind].noSpeechProb, 6);
    }
    heard.languages.forEach((value, index) => expect(value).toBeCloseTo(reference.languages[index]!, 5));
    expect([...heard.words.starts]).toEqual([...reference.words.starts]);
    heard.words.probabilities.forEach((value, index) =>
      expect(value).toBeCloseTo(reference.words.probabilities[index]!, 5),
    );
  });

  it("int8 hears nearly the same", async () => {
    const heard = await listen(await resolve("tiny-hf", "int8"), sweep());
    // Random weights of width 16 have no redundancy: the choice of tokens may change, the probabilities only a little.
    heard.languages.forEach((value, index) => expect(Math.abs(value - reference.languages[index]!)).toBeLessThan(0.02));
    heard.words.probabilities.forEach((value, index) => {
      const wanted = reference.words.probabilities[index]!;
      expect(Math.abs(value - wanted)).toBeLessThan(0.1 * wanted + 1e-3);
    });
    expect(Math.abs(heard.plain.noSpeechProb - reference.plain.noSpeechProb)).toBeLessThan(1e-3);
  });
});

const clips = process.env["PERGOLA_TEST_AUDIO"];
const clip = clips ? join(clips, "austen-0880.wav") : "";

describe.skipIf(!existsSync(clip))(
  "converted checkpoints against transformers (needs the clips of PERGOLA_TEST_AUDIO)",
  () => {
    it.each(["tiny-hf", "ct2-tiny"])("%s: ids of greedy decoding", async (name) => {
      const bytes = readFileSync(clip);
      const data = bytes.indexOf("data") + 8;
      const samples = Float32Array.from(
        { length: (bytes.length - data) >> 1 },
        (_, index) => bytes.readInt16LE(data + 2 * index) / 32_768,
      );
      // transformers pads the samples to 30 s rather than the spectrogram.
      const padded = new Float32Array(480_000);
      padded.set(samples.subarray(0, 480_000));
      const heard = await listen(await resolve(name), padded);
      const { hf_generate_no_timestamps: plain, hf_generate_timestamps: timed } = golden.cases["austen-0880"]!;
      expect([...heard.plain.ids]).toEqual(plain.ids.slice(0, 24));
      // Its list goes on with the next window behind the last pair of timestamps.
      const last = timed.ids.indexOf(271, 1);
      expect([...heard.timed.ids].slice(0, last)).toEqual(timed.ids.slice(0, last));
    });
  },
);
