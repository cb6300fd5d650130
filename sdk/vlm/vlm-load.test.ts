import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DeviceError, ModelError, OptionError, UnsupportedError } from "../core/errors.js";
import { setNativeForTesting } from "../core/native.js";
import type { NativeDevice } from "../core/native-types.js";
import type { LoadProgress } from "../core/progress.js";
import { failureOf } from "../testing/fake-harness.js";
import { FakeNative, fakeNativeError } from "../testing/fake-native.js";
import { janusFixture } from "../testing/janus-fixture.js";
import { TINY_VLM, useFakeVLMs } from "../testing/vlm-fixture.js";
import { VLMPipeline } from "./vlm-pipeline.js";

const load = useFakeVLMs();
const DEVICES: NativeDevice[] = [
  { name: "CPU", fullName: "Fake CPU", capabilities: [] },
  { name: "GPU", fullName: "Fake GPU", capabilities: [] },
];

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "pergola-vlm-"))));
afterEach(async () => {
  setNativeForTesting(undefined);
  await rm(folder, { recursive: true });
});

/** A copy of the tiny model with changes to its JSON files. */
async function changed(changes: Record<string, Record<string, unknown>>, without: string[] = []): Promise<string> {
  await cp(TINY_VLM, folder, { recursive: true });
  for (const [file, values] of Object.entries(changes)) {
    const path = join(folder, file);
    const content = JSON.parse(await readFile(path, "utf8")) as object;
    await writeFile(path, JSON.stringify({ ...content, ...values }));
  }
  for (const file of without) await rm(join(folder, file));
  return folder;
}

function fake(options: ConstructorParameters<typeof FakeNative>[0] = {}): FakeNative {
  const native = new FakeNative(options);
  setNativeForTesting(native);
  return native;
}

describe("VLMPipeline.load", () => {
  it("opens the vision encoder and the language model with its embeddings", async () => {
    const { vlm, native } = await load(undefined, {
      kvCache: { tokens: 500 },
      properties: { NUM_STREAMS: 1 },
      warmUp: false,
      attention: "paged",
    });
    const file = (name: string) => ({ xml: join(TINY_VLM, `${name}.xml`), bin: join(TINY_VLM, `${name}.bin`) });
    expect(native.loads).toEqual([
      expect.objectContaining({
        source: { kind: "ir", ...file("openvino_language_model") },
        embeddings: { ...file("openvino_text_embeddings_model"), modelKey: expect.any(String) },
        device: "CPU",
        properties: { NUM_STREAMS: 1 },
        attention: "paged",
        weights: "file",
        kvCache: { tokens: 500 },
        contextLength: 4096,
        cacheDir: "",
        warmUp: false,
      }),
    ]);
    expect(native.loads[0]).not.toHaveProperty("head");
    expect(native.graphs.map(({ options }) => options)).toEqual([
      {
        ...file("openvino_vision_embeddings_model"),
        modelKey: expect.any(String),
        device: "CPU",
        properties: { NUM_STREAMS: 1 },
        cacheDir: "",
      },
    ]);
    expect(vlm.info).toMatchObject({ architecture: "llava", contextLength: 4096, maxRequestTokens: 500 });
    await vlm.dispose();
    expect(native.generator.closed && native.graphs[0]!.closed).toBe(true);
  });

  it("gives a model that ends in hidden states its head", async () => {
    const { native } = await load(undefined, {}, {}, janusFixture("tiny-ir"));
    expect(native.loads[0]!.head).toMatchObject({ xml: expect.stringContaining("openvino_lm_head_model.xml") });
    expect(native.loads[0]).not.toHaveProperty("generatedEmbeddings");
  });

  it("tells how the weights of a checkpoint are stored", async () => {
    for (const [options, told] of [
      [{ weights: "file" }, "f16"],
      [{ weights: "int8" }, "int8"],
      [{ weights: "int4", groupSize: 32 }, "int4 in groups of 32"],
    ] as const) {
      const { vlm } = await load(undefined, options, {}, janusFixture("tiny"));
      expect(vlm.explain().load["weights"]).toEqual({ value: told, source: "call" });
      await vlm.dispose();
    }
  });

  it("puts the encoder on a device of its own, without properties meant for the other", async () => {
    const { native, vlm } = await load(
      undefined,
      { visionDevice: "GPU", properties: { NUM_STREAMS: 1 } },
      { devices: DEVICES },
    );
    expect(native.graphs[0]!.options).toMatchObject({ device: "GPU", properties: {} });
    expect(native.loads[0]).toMatchObject({ device: "CPU", properties: { NUM_STREAMS: 1 } });
    expect(vlm.explain().load["visionDevice"]).toEqual({ value: "GPU", source: "call" });
    expect(vlm.info.vision.device).toBe("GPU");
    await expect(VLMPipeline.load(TINY_VLM, { visionDevice: "NPU" })).rejects.toBeInstanceOf(DeviceError);
  });

  it("starts what decodes and resizes pictures, unless it is not to warm up", async () => {
    const { native, encoder } = await load();
    expect(native.resizes).toHaveLength(1);
    const cold = await load(undefined, { warmUp: false });
    expect(cold.native.resizes).toHaveLength(0);
    // The encoder itself takes seconds for large models.
    expect(encoder.inferences).toHaveLength(0);
  });

  it("reports progress that only grows and ends with ready", async () => {
    const reports: LoadProgress[] = [];
    await load(undefined, { onProgress: (progress) => void reports.push(progress) });
    const fractions = reports.map(({ fraction }) => fraction);
    expect(fractions).toEqual([...fractions].sort((a, b) => a - b));
    expect(reports.at(-1)).toEqual({ stage: "ready", fraction: 1 });
  });

  it.each([
    [{ weights: "f16" }, "weights"],
    [{ weights: "int8" }, "weights"],
    [{ imageCacheBytes: -1 }, "imageCacheBytes"],
    [{ chatTemplate: "" }, "chatTemplate"],
    [{ kvCache: { bytes: 1, tokens: 1 } }, "kvCache"],
    [{ temperature: 1 }, "temperature"],
  ])("refuses the option %j", async (options, path) => {
    const native = fake();
    expect(await failureOf(() => VLMPipeline.load(TINY_VLM, options as never))).toMatchObject({ code: "option", path });
    expect(native.loads).toEqual([]);
  });

  it("takes another chat template, and goes without one", async () => {
    const template =
      "{% for m in messages %}{% for p in m.content %}[{{ p.text or '<image>' }}]{% endfor %}{% endfor %}";
    const { vlm, prompts } = await load(undefined, { chatTemplate: template });
    await vlm.generate("a", { images: [{ data: new Uint8Array(3), width: 1, height: 1 }] });
    expect(prompts()).toEqual(["<s> [<image>][a]"]);
    const bare = await changed({}, ["chat_template.jinja"]);
    const without = await load(undefined, {}, {}, bare);
    expect(await failureOf(() => without.vlm.generate("a"))).toMatchObject({
      code: "model",
      message: expect.stringContaining("no chat template"),
    });
    expect((await without.vlm.generate("a", { applyChatTemplate: false })).text.trim()).toBe("seen");
  });

  it("tells when a template leaves pictures out", async () => {
    const { vlm } = await load(undefined, { chatTemplate: "{{ messages[0].content[1].text }}" });
    const failure = await failureOf(() =>
      vlm.generate("a", { images: [{ data: new Uint8Array(3), width: 1, height: 1 }] }),
    );
    expect(failure).toMatchObject({ code: "option", message: expect.stringContaining("leaves pictures out") });
  });
});

describe("what cannot be loaded is told by name, and nothing stays open", () => {
  it.each([
    "openvino_language_model.bin",
    "openvino_text_embeddings_model.xml",
    "openvino_vision_embeddings_model.bin",
  ])("without %s", async (file) => {
    const native = fake();
    const failure = await failureOf(async () => VLMPipeline.load(await changed({}, [file]), { cache: false }));
    expect(failure).toBeInstanceOf(ModelError);
    expect((failure as Error).message).toContain(file);
    expect([...native.loads, ...native.graphs]).toEqual([]);
  });

  it("a family that is not known", async () => {
    fake();
    const failure = await failureOf(async () =>
      VLMPipeline.load(await changed({ "config.json": { model_type: "qwen2_vl" } }), { cache: false }),
    );
    expect(failure).toBeInstanceOf(UnsupportedError);
    expect(failure).toMatchObject({
      subject: "qwen2_vl",
      message: expect.stringMatching(/qwen2_vl.*Janus.*LLaVA 1\.5/),
    });
  });

  it.each([
    ["preprocessor_config.json", { image_mean: [0.5] }, "image_mean"],
    ["preprocessor_config.json", { image_std: [0.5, 0, 0.5] }, "image_std must be three numbers above 0"],
    ["preprocessor_config.json", { crop_size: "big" }, "crop_size"],
    ["preprocessor_config.json", { do_center_crop: "yes" }, "do_center_crop"],
    ["config.json", { image_token_index: 9_999 }, "image token"],
  ])("%s with %j", async (file, values, word) => {
    const native = fake();
    const failure = await failureOf(async () => VLMPipeline.load(await changed({ [file]: values }), { cache: false }));
    expect(failure).toBeInstanceOf(ModelError);
    expect((failure as Error).message).toContain(word);
    for (const part of [...native.generators, ...native.graphs]) expect(part.closed).toBe(true);
  });

  it("resampling that is not there", async () => {
    fake();
    const changes = { "preprocessor_config.json": { resample: 0 } };
    expect(await failureOf(async () => VLMPipeline.load(await changed(changes), { cache: false }))).toBeInstanceOf(
      UnsupportedError,
    );
  });

  it("a native failure, with the caller's line", async () => {
    fake({ loadError: fakeNativeError("model", "cannot parse", { file: "m.xml" }) });
    const failure = await failureOf(() => VLMPipeline.load(TINY_VLM, { cache: false }));
    expect(failure).toMatchObject({ name: "ModelError", file: "m.xml" });
    expect((failure as Error).stack).toContain("vlm-load.test.ts");
  });

  it("a load that its listener or its signal ends", async () => {
    for (const end of ["throw", "abort"] as const) {
      const native = fake();
      const controller = new AbortController();
      const reason = new Error("enough");
      let warmUps = 0;
      const onProgress = ({ stage }: LoadProgress): void => {
        // The first is the encoder's, the second the language model's.
        if (stage !== "warm-up" || ++warmUps < 2) return;
        if (end === "throw") throw reason;
        controller.abort(reason);
      };
      const options = { cache: false, onProgress, signal: controller.signal };
      expect(await failureOf(() => VLMPipeline.load(TINY_VLM, options))).toBe(reason);
      expect(native.graphs).toHaveLength(1);
      for (const part of [...native.generators, ...native.graphs]) expect(part.closed).toBe(true);
    }
  });

  it.each([[undefined], [5], [new URL("http://host/x")]])("the model %s", async (model) => {
    fake();
    expect(await failureOf(() => VLMPipeline.load(model as never))).toBeInstanceOf(OptionError);
  });
});
