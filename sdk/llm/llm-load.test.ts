import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DeviceError, ModelError, OptionError } from "../core/errors.js";
import { setNativeForTesting } from "../core/native.js";
import type { LoadProgress } from "../core/progress.js";
import { FakeNative, fakeNativeError } from "../testing/fake-native.js";
import { echo, TINY_MODEL } from "../testing/llm-fixture.js";
import { useFakeLLMs } from "../testing/llm-harness.js";
import { LLMPipeline } from "./llm-pipeline.js";

const load = useFakeLLMs();

describe("load", () => {
  it("opens a generator with what was asked for and what the model says", async () => {
    const { llm, native } = await load(echo, {
      kvCache: { tokens: 500, precision: "f32" },
      weights: "int8",
      warmUp: false,
    });
    expect(native.loads[0]).toMatchObject({
      source: { kind: "ir", xml: `${TINY_MODEL}/openvino_model.xml`, bin: `${TINY_MODEL}/openvino_model.bin` },
      device: "CPU",
      attention: "auto",
      weights: "int8",
      kvCache: { tokens: 500, precision: "f32" },
      contextLength: 2048,
      cacheDir: "",
      warmUp: false,
      prefixCaching: true,
    });
    expect(native.loads[0]!.modelKey).toMatch(/^[0-9a-f]{32}$/);
    expect(llm.info).toMatchObject({
      architecture: "llama",
      contextLength: 2048,
      maxRequestTokens: 500,
      device: "CPU",
    });
    expect(llm.info.loadMs).toBeGreaterThan(0);
  });

  it("reports progress that only grows and ends with ready", async () => {
    const reports: LoadProgress[] = [];
    await load(echo, { onProgress: (progress) => void reports.push(progress) });
    const fractions = reports.map(({ fraction }) => fraction);
    expect(fractions).toEqual([...fractions].sort((a, b) => a - b));
    const stages = new Set(reports.map(({ stage }) => stage));
    expect(stages).toEqual(new Set(["files", "tokenizer", "read", "compile", "warm-up", "ready"]));
    expect(reports.at(-1)).toEqual({ stage: "ready", fraction: 1 });
  });

  it("fails with what the progress listener throws, and closes what was opened", async () => {
    const native = new FakeNative();
    setNativeForTesting(native);
    const onProgress = ({ stage }: LoadProgress): void => {
      if (stage === "warm-up") throw new Error("listener");
    };
    await expect(LLMPipeline.load(TINY_MODEL, { cache: false, onProgress })).rejects.toThrow("listener");
    expect(native.generator.closed).toBe(true);
  });

  it("checks options, then the device, before it looks at files", async () => {
    const native = new FakeNative();
    setNativeForTesting(native);
    await expect(LLMPipeline.load("/none", { devise: "CPU" } as never)).rejects.toMatchObject({ suggestion: "device" });
    await expect(LLMPipeline.load("/none", null as never)).rejects.toBeInstanceOf(OptionError);
    await expect(LLMPipeline.load("/none", { kvCache: { bytes: 1, tokens: 1 } })).rejects.toMatchObject({
      path: "kvCache",
    });
    await expect(LLMPipeline.load("/none", { device: "NPU" })).rejects.toBeInstanceOf(DeviceError);
    await expect(LLMPipeline.load("/none")).rejects.toBeInstanceOf(ModelError);
    expect(native.loads).toEqual([]);
  });

  it.each([[undefined], [5], [Buffer.from("x")], [new URL("http://host/x")], ["a\0b"]])(
    "refuses the model %s before anything is loaded",
    async (model) => {
      const native = new FakeNative();
      setNativeForTesting(native);
      await expect(LLMPipeline.load(model as never)).rejects.toMatchObject({ code: "option", path: "model" });
      expect(native.deviceListings).toBe(0);
    },
  );

  it("maps native errors, and shows the caller's line", async () => {
    setNativeForTesting(new FakeNative({ loadError: fakeNativeError("model", "cannot parse", { file: "m.xml" }) }));
    const error: unknown = await LLMPipeline.load(TINY_MODEL, { cache: false }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "ModelError", file: "m.xml", message: "cannot parse" });
    expect((error as Error).stack).toContain("llm-load.test.ts");
  });

  it.each([
    ["before it starts", 0],
    ["in the middle", 30],
  ])("ends by signal %s", async (_, delay) => {
    const native = new FakeNative();
    native.holdLoads();
    setNativeForTesting(native);
    const controller = new AbortController();
    const reason = new Error("changed my mind");
    if (delay === 0) controller.abort(reason);
    else setTimeout(() => controller.abort(reason), delay);
    await expect(LLMPipeline.load(TINY_MODEL, { cache: false, signal: controller.signal })).rejects.toBe(reason);
    expect(native.generators).toEqual([]);
    if (delay === 0) expect(native.loads).toEqual([]);
  });

  it("ends the native load when the tokenizer cannot be read", async () => {
    const folder = await mkdtemp(join(tmpdir(), "pergola-load-"));
    await cp(TINY_MODEL, folder, { recursive: true });
    await writeFile(join(folder, "tokenizer.json"), "{ broken");
    const native = new FakeNative();
    native.holdLoads();
    setNativeForTesting(native);
    await expect(LLMPipeline.load(folder, { cache: false })).rejects.toMatchObject({ code: "model" });
    expect(native.loads).toHaveLength(1);
    expect(native.generators).toEqual([]);
    await rm(folder, { recursive: true });
  });

  it("closes a generator that was ready when the signal fired", async () => {
    const native = new FakeNative();
    setNativeForTesting(native);
    const controller = new AbortController();
    const onProgress = ({ stage }: LoadProgress): void => {
      if (stage === "warm-up") controller.abort();
    };
    const loading = LLMPipeline.load(TINY_MODEL, { cache: false, onProgress, signal: controller.signal });
    await expect(loading).rejects.toMatchObject({ name: "AbortError" });
    expect(native.generator.closed).toBe(true);
  });

  it("is the only way to make one", () => {
    const Constructor = LLMPipeline as unknown as new () => unknown;
    expect(() => new Constructor()).toThrow(TypeError);
    expect(() => new Constructor()).toThrow(/LLMPipeline\.load/);
    expect(() => (LLMPipeline as unknown as () => unknown)()).toThrow(TypeError);
  });
});
