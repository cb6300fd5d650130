import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ContextLengthError, DisposedError } from "../core/errors.js";
import { commonPrefix, smolGoldens, smolLM2 } from "../testing/model-fixtures.js";
import { LLMPipeline, type LLMResult } from "./llm-pipeline.js";

const STOP = 2;
const goldens = smolGoldens();

let llm: LLMPipeline;
beforeAll(async () => void (llm = await LLMPipeline.load(smolLM2(), { cache: false })));
afterAll(() => llm.dispose());

/** The reference's ids count the stop token. */
const withStop = ({ tokens, finishReason }: LLMResult): number[] =>
  finishReason === "stop" ? [...tokens, STOP] : tokens;

describe("agreement with transformers", () => {
  it("first token in all, and most of the rest", async () => {
    const results = await llm.generate(
      goldens.map(({ prompt }) => prompt),
      { maxNewTokens: 24, topLogprobs: 5 },
    );
    const shares = results.map((result, index) => {
      const golden = goldens[index]!;
      expect(result.usage.promptTokens).toBe(golden.input_ids.length);
      expect(result.logprobs![0]!.token).toBe(golden.greedy[0]);
      const [best] = golden.first.logprobs;
      expect(result.logprobs![0]!.logprob).toBeCloseTo(best!, 0);
      return commonPrefix(withStop(result), golden.greedy) / golden.greedy.length;
    });
    expect(shares.reduce((sum, share) => sum + share, 0) / shares.length).toBeGreaterThanOrEqual(0.85);
  });

  it("says Paris", async () => {
    const { text, finishReason } = await llm.generate("What is the capital of France?");
    expect({ text, finishReason }).toEqual({ text: goldens[0]!.text, finishReason: "stop" });
  });
});

describe("prompts", () => {
  it("are tokenized as the template prints them, BOS not doubled", async () => {
    const { prompt } = await llm.explain({ prompt: goldens[0]!.prompt });
    expect(prompt).toEqual({ text: goldens[0]!.rendered, tokens: goldens[0]!.input_ids.length });
  });

  it("are refused beyond the context, and nothing else suffers", async () => {
    const limit = llm.info.maxRequestTokens - 1;
    const error: unknown = await llm.generate("word ".repeat(limit + 5)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ContextLengthError);
    expect(error).toMatchObject({ limit });
    expect((await llm.generate("What is the capital of France?")).text).toBe(goldens[0]!.text);
  });
});

describe("streams", () => {
  it("join to the text of generate()", async () => {
    const options = { maxNewTokens: 40 };
    const whole = await llm.generate("Write a Python function that adds two numbers.", options);
    const stream = llm.stream("Write a Python function that adds two numbers.", options);
    let text = "";
    const tokens: number[] = [];
    for await (const chunk of stream) {
      text += chunk.text;
      tokens.push(...chunk.tokens);
    }
    expect(text).toBe(whole.text);
    expect(tokens).toEqual(whole.tokens);
    expect(await stream.result).toMatchObject({ text, tokens, finishReason: whole.finishReason });
  });

  it("keep the space at the start of a continued text", async () => {
    const { text, tokens } = await llm.generate("Once upon a time", { applyChatTemplate: false, maxNewTokens: 8 });
    expect(text).toBe(llm.tokenizer.decode(tokens));
    expect("Once upon a time" + text).toMatch(/^Once upon a time[, ]/);
  });

  it("stop before a stop string that spans tokens", async () => {
    const { text } = await llm.generate("What is the capital of France?");
    const stop = text.slice(9, 20);
    expect(await llm.generate("What is the capital of France?", { stop })).toMatchObject({
      text: text.slice(0, 9),
      finishReason: "stop",
    });
  });

  it("end with the signal's reason in the middle; the next call is right", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const reading = (async () => {
      for await (const chunk of llm.stream("Describe a sunset.", { signal: controller.signal })) {
        if (chunk.text.length > 0) controller.abort(reason);
      }
    })();
    await expect(reading).rejects.toBe(reason);
    expect(llm.stats()).toMatchObject({ running: 0, waiting: 0 });
    expect((await llm.generate("What is the capital of France?")).text).toBe(goldens[0]!.text);
  });

  it("five at once, one cancelled, are what each is alone", async () => {
    const prompts = goldens.slice(0, 5).map(({ prompt }) => prompt);
    const streams = prompts.map((prompt) => llm.stream(prompt, { maxNewTokens: 8 }));
    await streams[1]!.cancel();
    expect((await streams[1]!.result).finishReason).toBe("cancelled");
    for (const index of [0, 2, 3, 4]) {
      const golden = goldens[index]!;
      const stable = golden.gaps.findIndex((gap) => gap < 0.3);
      const length = Math.min(8, stable < 0 ? golden.greedy.length : stable);
      expect(withStop(await streams[index]!.result).slice(0, length)).toEqual(golden.greedy.slice(0, length));
    }
  });
});

describe("sampling", () => {
  const options = { temperature: 1.5, maxNewTokens: 20 };

  it("gives the same text for the same seed, also after other calls", async () => {
    const first = await llm.generate("Tell me a short joke.", { ...options, seed: 7 });
    await llm.generate("Describe a sunset.", { ...options, seed: 8 });
    await llm.generate("What is 2+2?");
    const second = await llm.generate("Tell me a short joke.", { ...options, seed: 7 });
    expect(second.text).toBe(first.text);
    expect(second.seed).toBe(7);
  });

  it("gives the same text for the same seed beside other calls", async () => {
    const sampled = { temperature: 1.2, maxNewTokens: 40, seed: 7 };
    const alone = await llm.generate("Tell me a short joke.", sampled);
    const [together] = await Promise.all([
      llm.generate("Tell me a short joke.", sampled),
      llm.generate("Describe a sunset.", { ...options, seed: 8 }),
      llm.generate("What is 2+2?"),
    ]);
    expect(together.text).toBe(alone.text);
  });

  it("gives other texts for other seeds, and without one", async () => {
    const prompt = "Tell me a short joke.";
    const seeded = await llm.generate([prompt, prompt, prompt, prompt], { ...options, seed: 1 });
    expect(seeded.map(({ seed }) => seed)).toEqual([1, 2, 3, 4]);
    expect(new Set(seeded.map(({ text }) => text)).size).toBeGreaterThan(1);
    const drawn = await llm.generate(prompt, options);
    const other = await llm.generate(prompt, options);
    expect(other.text).not.toBe(drawn.text);
    expect((await llm.generate(prompt, { ...options, seed: drawn.seed })).text).toBe(drawn.text);
  });
});

describe("chats", () => {
  it("reuse what is computed, and remember", async () => {
    const chat = llm.startChat();
    await chat.send("My name is Ada. Remember it.", { maxNewTokens: 16 }).result;
    const second = await chat.send("What is my name?", { maxNewTokens: 16 }).result;
    expect(second.usage.cachedPromptTokens).toBeGreaterThan(0);
    const fresh = await llm.generate(chat.history.slice(0, -1), { maxNewTokens: 16 });
    expect(fresh.tokens).toEqual(second.tokens);
  });

  it.each(["stop", "cancel"] as const)(
    "after %s() the next answer is that of the same history elsewhere",
    async (end) => {
      const chat = llm.startChat({ maxNewTokens: 12 });
      await chat.send("Name a large city in Japan.").result;
      const stream = chat.send("Write a long story about it.", { maxNewTokens: 200 });
      for await (const chunk of stream) {
        if (chunk.text.length > 0) await stream[end]();
      }
      expect(chat.history).toHaveLength(end === "stop" ? 4 : 2);
      const history = chat.history;
      const next = await chat.send("And in France?").result;
      const other = await LLMPipeline.load(smolLM2(), { cache: false, prefixCaching: false });
      const expected = await other.startChat({ history, maxNewTokens: 12 }).send("And in France?").result;
      await other.dispose();
      expect(next.tokens).toEqual(expected.tokens);
    },
  );
});

describe("life", () => {
  it("dispose() in the middle ends the call, and gives the memory back to a later load", async () => {
    const other = await LLMPipeline.load(smolLM2(), { cache: false, warmUp: false });
    const rejected = expect(other.generate("Describe a sunset.")).rejects.toBeInstanceOf(DisposedError);
    await other.dispose();
    await rejected;
    await other.dispose();
    expect((await llm.generate("What is the capital of France?")).text).toBe(goldens[0]!.text);
  });

  it("an aborted load rejects with the reason", async () => {
    const controller = new AbortController();
    const reason = new Error("changed my mind");
    const loading = LLMPipeline.load(smolLM2(), {
      cache: false,
      signal: controller.signal,
      onProgress: ({ stage }) => {
        if (stage === "tokenizer") setTimeout(() => controller.abort(reason), 20);
      },
      // Another key than the open model's, so that there is something to load.
      weights: "int8",
    });
    await expect(loading).rejects.toBe(reason);
  });
});
