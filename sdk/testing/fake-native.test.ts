import { describe, expect, it } from "vitest";
import type { NativeEvent, NativeGeneratorOptions, NativeRequest } from "../core/native-types.js";
import { FakeNative, fakeNativeError, type FakeAnswer } from "./fake-native.js";

const OPTIONS: NativeGeneratorOptions = {
  source: { kind: "ir", xml: "m.xml", bin: "m.bin" },
  device: "CPU",
  properties: {},
  attention: "auto",
  weights: "file",
  kvCache: {},
  contextLength: 20,
  cacheDir: "",
  modelKey: "",
  prefixCaching: true,
  maxBatchTokens: 512,
  maxBatchSequences: 64,
  warmUp: true,
};

function request(changes: Partial<NativeRequest> = {}): NativeRequest {
  return {
    promptIds: Int32Array.of(1, 2, 3),
    maxNewTokens: 10,
    minNewTokens: 0,
    stopTokenIds: [99],
    sampling: {
      temperature: 0,
      topK: 0,
      topP: 1,
      minP: 0,
      repetitionPenalty: 1,
      presencePenalty: 0,
      frequencyPenalty: 0,
      logitBias: [],
      seed: 0,
      logprobs: -1,
    },
    ...changes,
  };
}

async function open(answer: FakeAnswer) {
  const native = new FakeNative({ answers: () => answer });
  const events: NativeEvent[] = [];
  native.setEventHandler((batch) => void events.push(...batch));
  const generator = await native.openGenerator(OPTIONS).promise;
  events.length = 0;
  const ended = async (id: number): Promise<NativeEvent> => {
    for (;;) {
      const last = events.find((event) => (event.type === "end" || event.type === "error") && event.request === id);
      if (last) return last;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const idsOf = (id: number): number[] =>
    events.flatMap((event) => (event.type === "tokens" && event.request === id ? event.ids : []));
  return { native, generator: native.generator, opened: generator, events, ended, idsOf };
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

describe("requests", () => {
  it("send nothing inside submit(), then start, tokens and one end", async () => {
    const { generator, events, ended } = await open({ ids: [5, 6, 99, 7], cachedTokens: 2 });
    const id = generator.submit(request());
    expect(events).toEqual([]);
    expect(await ended(id)).toMatchObject({ type: "end", reason: "stop", stopToken: 99 });
    expect(events.map(({ type }) => type)).toEqual(["start", "tokens", "tokens", "end"]);
    expect(events[0]).toMatchObject({ cachedTokens: 2 });
    await turns(3);
    expect(events).toHaveLength(4);
  });

  it("end by maxNewTokens and by the context with length", async () => {
    const { generator, ended, idsOf } = await open({ ids: Array.from({ length: 50 }, (_, index) => index) });
    const short = generator.submit(request({ maxNewTokens: 4 }));
    const long = generator.submit(request({ maxNewTokens: 400 }));
    expect(await ended(short)).toMatchObject({ reason: "length" });
    expect(await ended(long)).toMatchObject({ reason: "length" });
    expect(idsOf(short)).toHaveLength(4);
    expect(idsOf(long)).toHaveLength(17);
  });

  it("hold stop tokens off until minNewTokens", async () => {
    const { generator, ended, idsOf } = await open({ ids: [5, 99, 6, 99] });
    const id = generator.submit(request({ minNewTokens: 2 }));
    await ended(id);
    expect(idsOf(id)).toEqual([5, 99, 6]);
  });

  it("fail where the script says so", async () => {
    const error = { code: "native" as const, message: "lost", afterTokens: 1 };
    const { generator, ended, idsOf } = await open({ ids: [5, 6], error });
    const id = generator.submit(request());
    expect(await ended(id)).toMatchObject({ type: "error", error: { code: "native", message: "lost" } });
    expect(idsOf(id)).toEqual([5]);
  });

  it("report log probabilities when asked", async () => {
    const { generator, events, ended } = await open({ ids: [5], tokensPerEvent: 4 });
    const { sampling } = request();
    await ended(generator.submit(request({ sampling: { ...sampling, logprobs: 2 } })));
    const tokens = events.find(({ type }) => type === "tokens");
    expect(tokens).toMatchObject({ logprobs: [{ logprob: -0.005, top: [[5, -0.005], [6, -0.006]] }] }); // prettier-ignore
  });
});

describe("control", () => {
  it("hold() and release(n) give the steps one by one; stop() ends a held request", async () => {
    const { generator, ended, idsOf } = await open({ ids: [1, 2, 3, 4, 5] });
    generator.hold();
    const id = generator.submit(request());
    await turns(5);
    expect(idsOf(id)).toEqual([]);
    generator.release(2);
    await turns(5);
    expect(idsOf(id)).toEqual([1, 2]);
    generator.stop(id);
    expect(await ended(id)).toMatchObject({ reason: "stopped" });
    expect(generator.runningCount).toBe(0);
    generator.stop(id);
    generator.stop(12345);
  });

  it("close() ends requests, then resolves; submit() throws afterwards", async () => {
    const { generator, events } = await open({ ids: Array.from({ length: 15 }, () => 1) });
    generator.submit(request());
    generator.submit(request());
    await generator.close();
    expect(events.filter(({ type }) => type === "end")).toHaveLength(2);
    expect(() => generator.submit(request())).toThrow(expect.objectContaining({ code: "disposed" }));
    await generator.close();
  });
});

describe("loads", () => {
  it("report progress and can be aborted", async () => {
    const native = new FakeNative();
    const events: NativeEvent[] = [];
    native.setEventHandler((batch) => void events.push(...batch));
    native.holdLoads();
    const { job, promise } = native.openGenerator(OPTIONS);
    await turns(2);
    expect(events[0]).toMatchObject({ type: "progress", job, stage: "read" });
    native.stop(job);
    await expect(promise).rejects.toMatchObject({ code: "aborted" });
  });

  it("fail when told to", async () => {
    const native = new FakeNative({ loadError: fakeNativeError("model", "bad", { file: "m.xml" }) });
    await expect(native.openGenerator(OPTIONS).promise).rejects.toMatchObject({
      code: "model",
      details: { file: "m.xml" },
    });
  });
});
