import { cp, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ContextLengthError, DeviceError, PergolaError } from "../core/errors.js";
import { smolLM2, tinyGolden, tinyIr } from "../testing/model-fixtures.js";
import { LLMPipeline } from "./llm-pipeline.js";
import type { LLMLoadOptions, LLMOptions } from "./llm-options.js";

const RAW: LLMOptions = { applyChatTemplate: false, temperature: 0, ignoreEos: true, maxNewTokens: 24 };
const F32: LLMLoadOptions = {
  cache: false,
  kvCache: { precision: "f32" },
  properties: { INFERENCE_PRECISION_HINT: "f32" },
};
const golden = tinyGolden("llama").raw[0]!;

let root: string;
beforeAll(async () => void (root = await mkdtemp(join(tmpdir(), "pergola-limits-"))));
afterAll(() => rm(root, { recursive: true, force: true }));

async function expectSound(llm: LLMPipeline): Promise<void> {
  expect((await llm.generate(golden.prompt!, RAW)).tokens).toEqual(golden.greedy);
}

describe("a small KV cache", () => {
  it("takes prompts up to its limit less one token, refuses longer ones, and is fine afterwards", async () => {
    await using llm = await LLMPipeline.load(tinyIr("llama"), { ...F32, kvCache: { tokens: 64, precision: "f32" } });
    const { maxRequestTokens, kvCapacityTokens } = llm.info;
    expect(maxRequestTokens).toBe(kvCapacityTokens);
    const limit = maxRequestTokens - 1;
    const prompt = (tokens: number): string => "Q".repeat(tokens);
    expect(llm.tokenizer.count(prompt(limit))).toBe(limit);
    for (const tokens of [limit - 1, limit]) {
      const result = await llm.generate(prompt(tokens), { applyChatTemplate: false });
      expect(result.usage.promptTokens + result.usage.completionTokens).toBeLessThanOrEqual(maxRequestTokens);
      expect(result.usage.completionTokens).toBeGreaterThan(0);
    }
    for (const tokens of [limit + 1, limit * 3]) {
      const error: unknown = await llm.generate(prompt(tokens), { applyChatTemplate: false }).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(ContextLengthError);
      expect(error).toMatchObject({ limit, requested: tokens });
    }
    await expect(llm.generate(golden.prompt!, { ...RAW, maxNewTokens: 1000 })).rejects.toMatchObject({
      limit: kvCapacityTokens,
    });
    await expectSound(llm);
  });

  it.each([{ bytes: 1e15 }, { tokens: 1e12 }])("may be allowed more than the machine has: %j", async (limit) => {
    await using llm = await LLMPipeline.load(tinyIr("llama"), { ...F32, kvCache: { ...limit, precision: "f32" } });
    await expectSound(llm);
  });

  it("makes requests wait or compute again, with the same answers", async () => {
    await using llm = await LLMPipeline.load(tinyIr("llama"), { ...F32, kvCache: { tokens: 64, precision: "f32" } });
    const results = await llm.generate(Array<string>(6).fill(golden.prompt!), RAW);
    for (const { tokens } of results) expect(tokens).toEqual(golden.greedy);
    expect(llm.stats()).toMatchObject({ running: 0, waiting: 0 });
  });
});

it("the context of the model ends an answer with length", async () => {
  const folder = join(root, "short");
  await cp(tinyIr("llama"), folder, { recursive: true });
  const config = JSON.parse(await readFile(join(folder, "config.json"), "utf8")) as Record<string, unknown>;
  await writeFile(join(folder, "config.json"), JSON.stringify({ ...config, max_position_embeddings: 40 }));
  await using llm = await LLMPipeline.load(folder, F32);
  const result = await llm.generate(golden.prompt!, { ...RAW, maxNewTokens: 1000 });
  expect(result.finishReason).toBe("length");
  expect(result.usage).toMatchObject({ promptTokens: 10, completionTokens: 30 });
  expect(result.tokens.slice(0, 24)).toEqual(golden.greedy);
});

it("150 calls, aborted or not, leave nothing behind", async () => {
  await using llm = await LLMPipeline.load(tinyIr("llama"), F32);
  for (let run = 0; run < 50; run++) {
    const controller = new AbortController();
    const aborted = llm.generate(golden.prompt!, { ...RAW, maxNewTokens: 500, signal: controller.signal });
    const rejected = expect(aborted).rejects.toMatchObject({ name: "AbortError" });
    if (run % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    await rejected;
    for await (const chunk of llm.stream(golden.prompt!, { ...RAW, maxNewTokens: 500 }))
      if (chunk.tokens.length > 0) break;
    await expectSound(llm);
  }
  const { running, waiting, blocksUsed } = llm.stats();
  expect({ running, waiting, blocksUsed }).toEqual({ running: 0, waiting: 0, blocksUsed: 0 });
});

it("the event loop keeps turning while a model loads and answers", async () => {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 5);
  await using llm = await LLMPipeline.load(smolLM2(), { cache: false });
  expect(ticks).toBeGreaterThan(20);
  ticks = 0;
  await llm.generate("What is the capital of France?");
  clearInterval(timer);
  expect(ticks).toBeGreaterThan(10);
});

describe("bad files and devices", () => {
  it.each<[string, (folder: string) => Promise<void>]>([
    ["half of the weights", (folder) => truncate(join(folder, "openvino_model.bin"), 100_000)],
    ["text in place of the graph", (folder) => writeFile(join(folder, "openvino_model.xml"), "not xml")],
    [
      "a graph without layers",
      (folder) => writeFile(join(folder, "openvino_model.xml"), '<net name="x" version="11"></net>'),
    ],
  ])("%s give a typed error, and the process lives", async (name, damage) => {
    const folder = join(root, name);
    await cp(tinyIr("llama"), folder, { recursive: true });
    await damage(folder);
    const error: unknown = await LLMPipeline.load(folder, F32).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PergolaError);
    expect(["model", "unsupported"]).toContain((error as PergolaError).code);
    expect((error as Error).stack).toContain("limits.model.test.ts");
  });

  it("a GGUF file that was cut off names itself", async () => {
    const file = join(root, "cut.gguf");
    await writeFile(file, (await readFile(smolLM2())).subarray(0, 5_000_000));
    await expect(LLMPipeline.load(file, F32)).rejects.toMatchObject({ code: "model", file });
  });

  it("an unknown device and an unknown property are told", async () => {
    await expect(LLMPipeline.load(tinyIr("llama"), { ...F32, device: "TPU" })).rejects.toBeInstanceOf(DeviceError);
    const properties = { NO_SUCH_PROPERTY: 1 };
    const error: unknown = await LLMPipeline.load(tinyIr("llama"), { ...F32, properties }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(PergolaError);
    expect((error as Error).message).toContain("NO_SUCH_PROPERTY");
  });

  it("awkward folder names work for every part", async () => {
    const folder = join(root, "mödel 模型 (x) #%20");
    await cp(tinyIr("llama"), folder, { recursive: true });
    await using llm = await LLMPipeline.load(folder, { ...F32, cache: join(root, "cäche 缓存") });
    await expectSound(llm);
  });
});

describe("one process, several pipelines", () => {
  it("share a compiled model, and each outlives the other", async () => {
    const first = await LLMPipeline.load(tinyIr("llama"), F32);
    const second = await LLMPipeline.load(tinyIr("llama"), F32);
    expect([first.info.shared, second.info.shared]).toEqual([false, true]);
    await first.dispose();
    await expectSound(second);
    await second.dispose();
  });

  it("load from the compile cache the second time, with the same answers", async () => {
    const options = { ...F32, cache: join(root, "cache") };
    const first = await LLMPipeline.load(tinyIr("qwen3"), options);
    expect(first.info.fromCache).toBe(false);
    await first.dispose();
    await using second = await LLMPipeline.load(tinyIr("qwen3"), options);
    expect(second.info.fromCache).toBe(true);
    const run = tinyGolden("qwen3").raw[0]!;
    expect((await second.generate(run.prompt!, RAW)).tokens).toEqual(run.greedy);
  });
});
