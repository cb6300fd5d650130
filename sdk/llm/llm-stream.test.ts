import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { DisposedError, OptionError } from "../core/errors.js";
import { echo } from "../testing/llm-fixture.js";
import { readAll, turns, useFakeLLMs } from "../testing/llm-harness.js";

const load = useFakeLLMs();

describe("stream", () => {
  it("gives chunks whose texts and tokens make the result", async () => {
    const { llm } = await load();
    const stream = llm.stream("Grüße 👩‍🚀🇯🇵 漢字 한국어");
    const read = await readAll(stream);
    const result = await stream.result;
    expect(read).toEqual({ text: result.text, tokens: result.tokens });
    expect(result.text).toBe("Grüße 👩‍🚀🇯🇵 漢字 한국어");
  });

  it("never gives half a character", async () => {
    const { llm } = await load();
    for await (const { text } of llm.stream("漢字 👩‍🚀")) expect(text).not.toMatch(/\uFFFD|\p{Surrogate}/u);
  });

  it("throws wrong options at once, at the caller's line", async () => {
    const { llm } = await load();
    expect(() => llm.stream("x", { topP: 0 })).toThrow(OptionError);
    expect(() => llm.stream("x", { minNewTokens: 5, maxNewTokens: 1 })).toThrow(OptionError);
  });

  it("break stops native work; a call right after works", async () => {
    const { llm, native } = await load((prompt) =>
      prompt.includes("long") ? { ids: Array.from({ length: 1000 }, () => 65) } : echo(prompt),
    );
    const stream = llm.stream("long");
    let chunks = 0;
    for await (const chunk of stream) {
      expect(chunk.tokens.length).toBeGreaterThan(0);
      if (++chunks === 3) break;
    }
    expect(native.generator.runningCount).toBe(0);
    const result = await stream.result;
    expect(result.finishReason).toBe("stop");
    expect(result.tokens.length).toBeLessThan(10);
    expect((await llm.generate("again")).text).toBe("again");
  });

  it("stop() before the first token, and while the prompt is still encoded", async () => {
    const { llm, native } = await load();
    const stream = llm.stream("x");
    await stream.stop();
    expect(await stream.result).toMatchObject({ text: "", finishReason: "stop" });
    expect(native.generator.runningCount).toBe(0);
  });

  it("rejects with the signal's reason mid-stream, and ignores it afterwards", async () => {
    const { llm, native } = await load(() => ({ ids: Array.from({ length: 1000 }, () => 65) }));
    const controller = new AbortController();
    const stream = llm.stream("x", { signal: controller.signal });
    const reason = new Error("enough");
    const reading = (async () => {
      for await (const chunk of stream) if (chunk.tokens.length > 0) controller.abort(reason);
    })();
    await expect(reading).rejects.toBe(reason);
    await expect(stream.result).rejects.toBe(reason);
    expect(native.generator.runningCount).toBe(0);
    const late = new AbortController();
    const done = llm.stream("x", { signal: late.signal, maxNewTokens: 2 });
    await done.result;
    late.abort();
    expect((await done.result).finishReason).toBe("length");
  });

  it("leaves no listeners on a signal that served 50 calls, and keeps order for a slow reader", async () => {
    const { llm } = await load();
    const { signal } = new AbortController();
    for (let run = 0; run < 50; run++) {
      const stream = llm.stream(`run ${run}`, { signal });
      if (run % 3 === 0) await stream.stop();
      else if (run % 3 === 1) await stream.cancel();
      else await stream.result;
    }
    expect(getEventListeners(signal, "abort")).toEqual([]);
    const text = "abcdefghij".repeat(10);
    let read = "";
    for await (const chunk of llm.stream(text)) {
      read += chunk.text;
      if (read.length % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(read).toBe(text);
  });

  it("never starts with an aborted signal", async () => {
    const { llm, native } = await load();
    await expect(llm.generate("x", { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
    expect(native.generator.requests).toEqual([]);
  });
});

describe("stop strings", () => {
  it.each(["<<END>>", "a<<", "END"])("ends before %j", async (stop) => {
    const { llm, native } = await load(() => "alpha<<END>>beta");
    const expected = "alpha<<END>>beta".slice(0, "alpha<<END>>beta".indexOf(stop));
    const stream = llm.stream("x", { stop });
    expect((await readAll(stream)).text).toBe(expected);
    expect(await stream.result).toMatchObject({ text: expected, finishReason: "stop" });
    expect(native.generator.runningCount).toBe(0);
    expect((await llm.generate("x", { stop, includeStopString: true })).text).toBe(expected + stop);
  });

  it("delivers held-back text when the string does not complete", async () => {
    const { llm } = await load(() => "alpha<<EN");
    expect(await llm.generate("x", { stop: ["<<END>>"] })).toMatchObject({ text: "alpha<<EN", finishReason: "stop" });
  });

  it("drops tokens that come in the same event after the match", async () => {
    const { llm, tokenizer } = await load(() => ({
      ids: tokenizer.encode("one STOP two three", { addSpecialTokens: false }),
      tokensPerEvent: 100,
    }));
    const result = await llm.generate("x", { stop: "STOP", logprobs: true });
    expect(result.text).toBe("one ");
    expect(tokenizer.decode(result.tokens)).toBe("one STOP");
    expect(result.logprobs).toHaveLength(result.tokens.length);
  });
});

describe("dispose", () => {
  it("ends calls that run and refuses new ones; twice is harmless", async () => {
    const { llm, native } = await load(() => ({ ids: Array.from({ length: 1000 }, () => 65) }));
    const generating = llm.generate("x");
    const stream = llm.stream("y");
    const reading = readAll(stream);
    await turns(4);
    const disposing = llm.dispose();
    await expect(generating).rejects.toBeInstanceOf(DisposedError);
    await expect(reading).rejects.toBeInstanceOf(DisposedError);
    await disposing;
    await llm.dispose();
    expect(native.generator.closed).toBe(true);
    expect(native.generator.runningCount).toBe(0);
    await expect(llm.generate("x")).rejects.toMatchObject({ code: "disposed" });
    for (const call of [() => llm.stream("x"), () => llm.startChat(), () => llm.explain(), () => llm.stats()]) {
      expect(call).toThrow(DisposedError);
    }
  });

  it("works inside the chunk loop and before the first token", async () => {
    const inside = await load(() => ({ ids: Array.from({ length: 1000 }, () => 65) }));
    await expect(
      (async () => {
        for await (const chunk of inside.llm.stream("x")) if (chunk.tokens.length > 0) await inside.llm.dispose();
      })(),
    ).rejects.toBeInstanceOf(DisposedError);
    const before = await load();
    const rejected = expect(before.llm.generate("x")).rejects.toBeInstanceOf(DisposedError);
    await before.llm.dispose();
    await rejected;
  });
});
