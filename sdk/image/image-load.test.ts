import { cpSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DeviceError, ModelError, OptionError, UnsupportedError } from "../core/errors.js";
import { setNativeForTesting } from "../core/native.js";
import type { LoadProgress } from "../core/progress.js";
import { fakeNativeError, FakeNative } from "../testing/fake-native.js";
import { loadFakeImages, TINY_JANUS } from "../testing/image-fixture.js";
import { janusFixture } from "../testing/janus-fixture.js";
import { ImagePipeline } from "./image-pipeline.js";

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "pergola-image-"))));
afterEach(() => {
  setNativeForTesting(undefined);
  rmSync(folder, { recursive: true, force: true });
});

/** A copy of the tiny model to break. */
function copyOfModel(): string {
  const copy = join(folder, "janus");
  cpSync(janusFixture("tiny-ir"), copy, { recursive: true });
  return copy;
}

const name = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

describe("loading", () => {
  it("opens the language model with the image parts, and the picture decoder", async () => {
    const { native } = await loadFakeImages(undefined, { kvCache: { tokens: 4096 }, properties: { NUM_STREAMS: 1 } });
    const [options] = native.loads;
    expect(options).toMatchObject({
      device: "CPU",
      properties: { NUM_STREAMS: 1 },
      attention: "auto",
      weights: "file",
      kvCache: { tokens: 4096 },
      contextLength: 16_384,
      cacheDir: "",
    });
    expect(options!.source).toMatchObject({ kind: "ir" });
    expect(name((options!.source as { xml: string }).xml)).toBe("openvino_language_model.xml");
    expect(name(options!.embeddings!.xml)).toBe("openvino_text_embeddings_model.xml");
    expect(name(options!.generatedEmbeddings!.xml)).toBe("openvino_gen_embeddings_model.xml");
    expect(name(options!.head!.xml)).toBe("openvino_gen_head_model.xml");
    expect(native.graphs.map((graph) => graph.name)).toEqual(["openvino_gen_decoder_model"]);
    expect(native.graphs[0]!.options).toMatchObject({ device: "CPU", properties: { NUM_STREAMS: 1 } });
  });

  it("tells its progress, which ends with 1", async () => {
    const seen: LoadProgress[] = [];
    await loadFakeImages(undefined, { onProgress: (progress) => seen.push(progress) });
    const fractions = seen.map(({ fraction }) => fraction);
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
    expect(seen.at(-1)).toEqual({ stage: "ready", fraction: 1 });
  });

  it("tells how the weights of a checkpoint are stored", async () => {
    for (const [options, told] of [
      [{}, { value: "f16", source: "default" }],
      [{ weights: "file" }, { value: "f16", source: "call" }],
      [{ weights: "int4" }, { value: "int4 in groups of 64", source: "call" }],
      [
        { weights: "int4", groupSize: -1 },
        { value: "int4, a scale a row", source: "call" },
      ],
    ] as const) {
      const { image } = await loadFakeImages(undefined, options, { model: janusFixture("tiny") });
      expect(image.info.format).toBe("safetensors");
      expect(image.explain().load["weights"]).toEqual(told);
      await image.dispose();
    }
  });

  it("a listener's exception ends the conversion of a checkpoint", async () => {
    const reason = new Error("enough");
    let reports = 0;
    const onProgress = ({ stage }: LoadProgress): void => {
      if (stage !== "convert") return;
      reports++;
      throw reason;
    };
    await expect(loadFakeImages(undefined, { onProgress }, { model: janusFixture("tiny") })).rejects.toBe(reason);
    expect(reports).toBe(1);
  });

  it("a signal ends it, and nothing stays open", async () => {
    const native = new FakeNative();
    setNativeForTesting(native);
    native.holdLoads();
    const ends = new AbortController();
    const loading = ImagePipeline.load(janusFixture("tiny-ir"), { cache: false, signal: ends.signal });
    setTimeout(() => ends.abort(new Error("never mind")), 30);
    await expect(loading).rejects.toThrow("never mind");
    expect([...native.graphs, ...native.generators].every(({ closed }) => closed)).toBe(true);
  });

  it("gives back what was opened when a later step fails", async () => {
    const native = new FakeNative({ info: { vocabSize: TINY_JANUS.codebookSize - 1 } });
    setNativeForTesting(native);
    const failure = await ImagePipeline.load(janusFixture("tiny-ir"), { cache: false }).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(ModelError);
    expect(failure).toMatchObject({ message: expect.stringMatching(/255 image tokens.*says 256/) as string });
    expect(native.generator.closed && native.graphs[0]!.closed).toBe(true);
  });
});

describe("trouble", () => {
  it.each([
    "openvino_language_model",
    "openvino_text_embeddings_model",
    "openvino_gen_embeddings_model",
    "openvino_gen_head_model",
    "openvino_gen_decoder_model",
  ])("a folder without %s is told", async (part) => {
    const copy = copyOfModel();
    rmSync(join(copy, `${part}.bin`));
    setNativeForTesting(new FakeNative());
    const failure = await ImagePipeline.load(copy, { cache: false }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ModelError);
    expect((failure as Error).message).toContain(part);
  });

  it("all missing parts are told at once", async () => {
    const copy = copyOfModel();
    rmSync(join(copy, "openvino_gen_head_model.xml"));
    truncateSync(join(copy, "openvino_gen_decoder_model.bin"), 0);
    setNativeForTesting(new FakeNative());
    await expect(ImagePipeline.load(copy, { cache: false })).rejects.toThrow(
      /openvino_gen_head_model.*openvino_gen_decoder_model/,
    );
  });

  it("a model of another kind is told to be one", async () => {
    const copy = copyOfModel();
    writeFileSync(join(copy, "config.json"), JSON.stringify({ model_type: "llava" }));
    setNativeForTesting(new FakeNative());
    const failure = await ImagePipeline.load(copy, { cache: false }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UnsupportedError);
    expect(failure).toMatchObject({ subject: "llava", message: expect.stringMatching(/VLMPipeline/) as string });
  });

  it("a tokenizer of another model is told", async () => {
    const copy = copyOfModel();
    cpSync(janusFixture("../llm/llama-tiny-ir/tokenizer.json"), join(copy, "tokenizer.json"));
    setNativeForTesting(new FakeNative());
    await expect(ImagePipeline.load(copy, { cache: false })).rejects.toThrow(/tokenizer has no token/);
  });

  it("wrong options are told before anything is opened", async () => {
    const native = new FakeNative();
    setNativeForTesting(native);
    const model = janusFixture("tiny-ir");
    const load = (options: object): Promise<unknown> => ImagePipeline.load(model, options);
    await expect(load({ weights: "int3" })).rejects.toBeInstanceOf(OptionError);
    const checkpoint = ImagePipeline.load(janusFixture("tiny"), { cache: false, weights: "int8", groupSize: 64 });
    await expect(checkpoint).rejects.toThrow(/groupSize is for int4 weights only/);
    await expect(load({ weights: "int4", groupSize: 100 })).rejects.toThrow(/32, 64, 128, or -1/);
    await expect(load({ kvCache: { bytes: 1, tokens: 1 } })).rejects.toThrow(/bytes or tokens, not both/);
    await expect(load({ guidance: 3 })).rejects.toThrow(/Unknown option "guidance"/);
    await expect(load({ device: "GPU.7" })).rejects.toBeInstanceOf(DeviceError);
    await expect(load({ weights: "int4", cache: false })).rejects.toBeInstanceOf(OptionError);
    await expect(ImagePipeline.load(undefined as unknown as string)).rejects.toMatchObject({ path: "model" });
    expect(native.graphs.length + native.generators.length).toBe(0);
  });

  it("a failing native load keeps its class", async () => {
    setNativeForTesting(new FakeNative({ loadError: fakeNativeError("model", "the file is cut short") }));
    await expect(ImagePipeline.load(janusFixture("tiny-ir"), { cache: false })).rejects.toBeInstanceOf(ModelError);
  });
});
