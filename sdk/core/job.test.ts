import { afterAll, describe, expect, it } from "vitest";
import { FakeNative, type FakeAnswer } from "../testing/fake-native.js";
import { NativeError } from "./errors.js";
import { Job } from "./job.js";
import { setNativeForTesting } from "./native.js";
import { eventsOf } from "./native-events.js";
import type { NativeRequest } from "./native-types.js";

const SAMPLING: NativeRequest["sampling"] = {
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
};

async function open(answer: FakeAnswer) {
  const native = new FakeNative({ answers: () => answer });
  setNativeForTesting(native);
  const events = eventsOf(native);
  const generator = await native.openGenerator({
    source: { kind: "gguf", files: ["x.gguf"] },
    device: "CPU",
    properties: {},
    attention: "auto",
    weights: "file",
    kvCache: {},
    contextLength: 100,
    cacheDir: "",
    modelKey: "",
    prefixCaching: true,
    maxBatchTokens: 512,
    maxBatchSequences: 64,
    warmUp: false,
  }).promise;
  const received: number[] = [];
  const start = (parts: { onTokens?: (ids: number[]) => void; callSite?: Error } = {}): Job =>
    new Job({
      generator,
      events,
      request: {
        promptIds: Int32Array.of(1, 2),
        maxNewTokens: 50,
        minNewTokens: 0,
        stopTokenIds: [0],
        sampling: SAMPLING,
      },
      onTokens: (ids) => {
        received.push(...ids);
        parts.onTokens?.(ids);
      },
      ...(parts.callSite ? { callSite: parts.callSite } : {}),
    });
  return { native, fake: native.generator, start, received };
}

afterAll(() => setNativeForTesting(undefined));

describe("Job", () => {
  it("delivers tokens in order and tells how the request ended", async () => {
    const { start, received } = await open({ ids: [5, 6, 7, 0], cachedTokens: 2 });
    const outcome = await start().ended;
    expect(received).toEqual([5, 6, 7]);
    expect(outcome).toMatchObject({ reason: "stop", stopToken: 0, cachedTokens: 2 });
  });

  it("drops what arrives after stop(), and ends", async () => {
    const { start, fake, received } = await open({ ids: Array.from({ length: 40 }, (_, index) => index + 1) });
    const job = start({ onTokens: () => received.length === 3 && job.stop() });
    expect(await job.ended).toMatchObject({ reason: "stopped" });
    expect(received).toEqual([1, 2, 3]);
    expect(fake.runningCount).toBe(0);
  });

  it("is stopped when its last tokens came too late, though the engine says it ran to its end", async () => {
    for (const ids of [Array.from({ length: 50 }, (_, index) => index + 1), [5, 6, 0]]) {
      const { start } = await open({ ids, tokensPerEvent: 50 });
      const late: number[] = [];
      // All of both requests comes in one batch of events.
      const first = start({ onTokens: () => second.stop() });
      const second: Job = start({ onTokens: (tokens) => void late.push(...tokens) });
      expect((await first.ended).reason).not.toBe("stopped");
      expect(await second.ended).toMatchObject({ reason: "stopped", stopToken: undefined });
      expect(late).toEqual([]);
    }
  });

  it("keeps requests of one generator apart", async () => {
    const { start } = await open({ ids: [5, 6] });
    const seen: number[][] = [[], [], []];
    await Promise.all(seen.map((list) => start({ onTokens: (ids) => void list.push(...ids) }).ended));
    expect(seen).toEqual([
      [5, 6],
      [5, 6],
      [5, 6],
    ]);
  });

  it("gives native errors the SDK's class and the caller's stack", async () => {
    const { start } = await open({ ids: [5, 6], error: { code: "native", message: "device lost", afterTokens: 1 } });
    const callSite = new Error("call");
    const error: unknown = await start({ callSite }).ended.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NativeError);
    expect((error as Error).message).toBe("device lost");
    expect((error as Error).stack).toContain("job.test.ts");
    expect((error as Error).cause).toMatchObject({ code: "native" });
  });

  it("ends the request when the receiver throws, and rejects with that error", async () => {
    const { start, fake } = await open({ ids: [5, 6, 7] });
    const job = start({
      onTokens: () => {
        throw new Error("receiver");
      },
    });
    await expect(job.ended).rejects.toThrow("receiver");
    expect(fake.runningCount).toBe(0);
  });

  it("throws what submit throws as the SDK's class", async () => {
    const { start, fake } = await open({ ids: [] });
    await fake.close();
    expect(() => start()).toThrow(expect.objectContaining({ code: "disposed", name: "DisposedError" }));
  });
});

describe("eventsOf", () => {
  it("is one router for an addon, also across copies of the package", () => {
    const native = new FakeNative();
    expect(eventsOf(native)).toBe(eventsOf(native));
    expect(eventsOf(new FakeNative())).not.toBe(eventsOf(native));
  });
});
