import { access, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { setNativeForTesting } from "../core/native.js";
import type { NativeGeneratorOptions } from "../core/native-types.js";
import type { LoadProgress } from "../core/progress.js";
import { FakeNative } from "../testing/fake-native.js";
import { tinyHf } from "../testing/model-fixtures.js";
import { LLMPipeline } from "./llm-pipeline.js";
import type { LLMLoadOptions } from "./llm-options.js";

let cache: string;
let native: FakeNative;
beforeAll(async () => void (cache = await mkdtemp(join(tmpdir(), "pergola-checkpoint-"))));
afterAll(() => rm(cache, { recursive: true, force: true }));
afterEach(() => setNativeForTesting(undefined));

async function load(options: LLMLoadOptions = {}, name: Parameters<typeof tinyHf>[0] = "llama"): Promise<LLMPipeline> {
  native = new FakeNative();
  setNativeForTesting(native);
  return LLMPipeline.load(tinyHf(name), { cache, ...options });
}

/** The graph that the addon was given. */
function graph({ source }: NativeGeneratorOptions): string {
  if (source.kind !== "ir") throw new Error(source.kind);
  return source.xml;
}

describe("a checkpoint", () => {
  it("is converted into the cache and opened from there, with the weights as they were asked for", async () => {
    const graphs: string[] = [];
    for (const [options, told] of [
      [{}, "f16"],
      [{ weights: "file" }, "f16"],
      [{ weights: "int8" }, "int8"],
      [{ weights: "int4" }, "int4 in groups of 64"],
      [{ weights: "int4", groupSize: -1 }, "int4, a scale a row"],
    ] as const) {
      const llm = await load(options);
      // Not rounded once more.
      expect(native.loads[0]!.weights).toBe("file");
      graphs.push(graph(native.loads[0]!));
      expect(llm.explain().load["weights"]!.value).toBe(told);
      expect(llm.info).toMatchObject({ architecture: "llama", contextLength: 2048 });
      await llm.dispose();
    }
    expect(new Set(graphs).size).toBe(4);
    expect(graphs[0]).toBe(graphs[1]);
    expect(new Set(graphs.map((path) => dirname(dirname(path))))).toEqual(new Set([join(cache, "converted")]));
  });

  it("lies in a temporary folder without a cache", async () => {
    const llm = await load({ cache: false });
    const path = graph(native.loads[0]!);
    expect(path).not.toContain(cache);
    await access(path);
    await llm.dispose();
  });

  it("tells how far its conversion is", async () => {
    const reports: LoadProgress[] = [];
    const llm = await load({ weights: "int4", groupSize: 32, onProgress: (progress) => void reports.push(progress) });
    expect(reports.filter(({ stage }) => stage === "convert").length).toBeGreaterThan(5);
    const fractions = reports.map(({ fraction }) => fraction);
    expect(fractions).toEqual([...fractions].sort((a, b) => a - b));
    expect(reports.find(({ file }) => file !== undefined)?.file).toBe(tinyHf("llama"));
    await llm.dispose();
  });

  it("whose conversion is aborted, or ended by the listener, opens nothing", async () => {
    const reason = new Error("enough");
    const controller = new AbortController();
    const abort = ({ stage }: LoadProgress): void => {
      if (stage === "convert") controller.abort(reason);
    };
    await expect(load({ onProgress: abort, signal: controller.signal }, "mistral")).rejects.toBe(reason);
    const fail = ({ stage }: LoadProgress): void => {
      if (stage === "convert") throw reason;
    };
    await expect(load({ onProgress: fail }, "mistral")).rejects.toBe(reason);
    expect(native.loads).toEqual([]);
    const before = await readdir(join(cache, "converted"));
    const llm = await load({}, "mistral");
    expect(await readdir(join(cache, "converted"))).toHaveLength(before.length + 1);
    await llm.dispose();
  });

  it("that paged attention cannot compute keeps its past in its state", async () => {
    const llm = await load({}, "gemma2");
    expect(native.loads[0]!.attention).toBe("stateful");
    expect(llm.explain().notes.join(" ")).toMatch(/attention is stateful: the model limits attention scores/);
    await llm.dispose();
    await expect(load({ attention: "paged" }, "gemma2")).rejects.toMatchObject({
      code: "unsupported",
      subject: "paged attention",
    });
  });

  it.each([
    [{ weights: "int3" }, "weights"],
    [{ groupSize: 64 }, "groupSize"],
    [{ weights: "int8", groupSize: 64 }, "groupSize"],
    [{ weights: "int4", groupSize: 65 }, "groupSize"],
  ])("refuses %j", async (options, path) => {
    await expect(load(options as LLMLoadOptions)).rejects.toMatchObject({ code: "option", path });
  });
});
