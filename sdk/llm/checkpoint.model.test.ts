import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toFloat32 } from "../models/convert/read/floats.js";
import { SafetensorsSource } from "../models/convert/read/safetensors.js";
import { bytesOfArray, safetensorsFile, type BuiltTensor } from "../testing/checkpoint-builders.js";
import { TINY_HF, tinyGolden, tinyHf, variant, variantGolden, type GoldenRun } from "../testing/model-fixtures.js";
import { LLMPipeline, type LLMResult } from "./llm-pipeline.js";
import type { LLMOptions } from "./llm-options.js";

// As the reference: greedy, f32, end-of-sequence ignored.
const OPTIONS: LLMOptions = { temperature: 0, maxNewTokens: 24, ignoreEos: true, topLogprobs: 20 };
const EXACT = { kvCache: { precision: "f32" }, properties: { INFERENCE_PRECISION_HINT: "f32" } } as const;

let root: string;
beforeAll(async () => void (root = await mkdtemp(join(tmpdir(), "pergola-checkpoints-"))));
afterAll(() => rm(root, { recursive: true, force: true }));

function expectGolden(result: LLMResult, golden: GoldenRun): void {
  expect(result.usage.promptTokens).toBe(golden.input_ids.length);
  expect(result.tokens.slice(0, golden.stable_prefix)).toEqual(golden.greedy.slice(0, golden.stable_prefix));
  expect(largestGap(result, golden)).toBeLessThan(0.05);
}

/** Largest difference of logits, from the best known one: log probabilities differ from logits by the same for all tokens. */
function largestGap(result: LLMResult, { logits_first64: logits }: GoldenRun): number {
  const known = result.logprobs![0]!.top.filter(({ token }) => token < logits.length);
  const gaps = known.map(({ token, logprob }) => {
    return Math.abs(logprob - known[0]!.logprob - (logits[token]! - logits[known[0]!.token]!));
  });
  // The best one is compared with itself: one alone says nothing.
  expect(known.length).toBeGreaterThan(1);
  return Math.max(...gaps);
}

describe.each(TINY_HF)("%s", (name) => {
  const golden = tinyGolden(name);
  let llm: LLMPipeline;
  beforeAll(async () => void (llm = await LLMPipeline.load(tinyHf(name), { cache: root, ...EXACT })));
  afterAll(() => llm.dispose());

  it("is converted as the model wants to be computed", () => {
    // Paged attention cannot keep scores within limits.
    expect(llm.info).toMatchObject({
      attention: name === "gemma2" ? "stateful" : "paged",
      contextLength: 2048,
      vocabSize: 304,
    });
  });

  it.each(golden.raw)("raw prompt $prompt$repeat", async (run) => {
    expectGolden(await llm.generate(run.prompt ?? run.repeat!, { ...OPTIONS, applyChatTemplate: false }), run);
  });

  it.each(golden.chat)("chat", async (run) => {
    expectGolden(await llm.generate(run.messages, OPTIONS), run);
  });
});

describe("variants", () => {
  const { messages } = tinyGolden("llama").chat[0]!;

  it.each([
    ["biases-gelu-yarn", "paged"],
    ["biased-norms", "paged"],
    ["linear", "paged"],
    ["no-groups-llama3", "paged"],
    ["window", "stateful"],
    ["mixed-windows", "stateful"],
    ["partial-longrope-window", "stateful"],
  ] as const)("%s", async (name, attention) => {
    const folder = join(root, name);
    await cp(tinyHf("llama"), folder, { recursive: true });
    await cp(variant(name), folder, { recursive: true });
    const golden = variantGolden(name);
    const llm = await LLMPipeline.load(folder, { cache: root, ...EXACT });
    expect(llm.info).toMatchObject({ attention });
    const result = await llm.generate(messages, { ...OPTIONS, maxNewTokens: golden.greedy.length });
    expect(result.usage.promptTokens).toBe(golden.input_ids.length);
    expect(result.tokens.slice(0, golden.stable_prefix)).toEqual(golden.greedy.slice(0, golden.stable_prefix));
    // These were computed with exact frequencies.
    expect(largestGap(result, golden)).toBeLessThan(2e-3);
    await llm.dispose();
  });

  it("with frequencies for longer texts hold for as many tokens as the shorter ones do, and say so", async () => {
    const llm = await LLMPipeline.load(join(root, "partial-longrope-window"), { cache: root, ...EXACT });
    expect(llm.info.contextLength).toBe(64);
    expect(llm.explain().notes.join(" ")).toMatch(/holds for 64 tokens.*256/);
    await llm.dispose();
  });
});

describe("rounded weights", () => {
  /** Without rounding of activations, which would hide small errors. */
  const PLAIN = { ...EXACT, properties: { ...EXACT.properties, DYNAMIC_QUANTIZATION_GROUP_SIZE: 0 } };

  /**
   * A checkpoint whose values 4 bits (8 in the embedding and the last layer) can hold exactly: whole numbers times a power of
   * two, with the lowest number in each group.
   */
  async function exactCheckpoint(name: "llama" | "phi3", group: number): Promise<string> {
    const folder = join(root, `exact-${name}-${group}`);
    await cp(tinyHf(name), folder, { recursive: true });
    const source = await SafetensorsSource.open(tinyHf(name));
    const tensors: BuiltTensor[] = [];
    for (const tensor of source.tensors.values()) {
      const [rows, columns] = [tensor.shape[0]!, tensor.shape[1]];
      const values = toFloat32(await source.read(tensor.name, 0, rows), "f16");
      if (columns !== undefined) {
        const edge = /embed_tokens|lm_head/.test(tensor.name);
        const [scale, lowest, run] = edge ? [2 ** -6, -127, columns] : [2 ** -4, -8, group];
        values.forEach((value, index) => {
          const whole = Math.max(lowest, Math.min(-lowest - 1, Math.round(value / scale)));
          values[index] = scale * (index % run === 0 ? lowest : whole);
        });
      }
      tensors.push({ name: tensor.name, shape: [...tensor.shape], dtype: "F32", bytes: bytesOfArray(values) });
    }
    await source.close();
    await writeFile(join(folder, "model.safetensors"), safetensorsFile(tensors));
    return folder;
  }

  it.each([
    ["llama", 32],
    ["phi3", -1],
  ] as const)("of 4 bits compute what they stand for (%s, groups of %i)", async (name, groupSize) => {
    const folder = await exactCheckpoint(name, groupSize === -1 ? 32 : groupSize);
    const answers: LLMResult[] = [];
    for (const weights of [{ weights: "file" }, { weights: "int4", groupSize }] as const) {
      const llm = await LLMPipeline.load(folder, { cache: root, ...PLAIN, ...weights });
      answers.push(await llm.generate("The quick brown fox", { ...OPTIONS, applyChatTemplate: false }));
      await llm.dispose();
    }
    const [exact, rounded] = answers as [LLMResult, LLMResult];
    expect(rounded.tokens).toEqual(exact.tokens);
    rounded.logprobs!.forEach(({ logprob }, step) => expect(logprob).toBeCloseTo(exact.logprobs![step]!.logprob, 3));
  });
});
