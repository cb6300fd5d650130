import { describe, expect, it } from "vitest";
import { BusyError, DisposedError, OptionError } from "../core/errors.js";
import type { FakeLLM, Script } from "../testing/llm-fixture.js";
import { useFakeLLMs } from "../testing/llm-harness.js";
import type { ChatSession } from "./chat.js";

const LONG = { ids: Array.from({ length: 1000 }, () => 65) };

const open = useFakeLLMs();

/** A model that counts the user's turns, or talks without end when asked for something long. */
function load(script?: Script): Promise<FakeLLM> {
  const answer = (prompt: string): string => `answer ${prompt.split("<|im_start|>user").length - 1}`;
  return open(
    script ?? ((prompt) => (prompt.endsWith("long<|im_end|>\n<|im_start|>assistant\n") ? LONG : answer(prompt))),
  );
}

const say = async (chat: ChatSession, text: string): Promise<string> => (await chat.send(text).result).text;

describe("turns", () => {
  it("send everything said so far, the system text first", async () => {
    const { llm, prompts } = await load();
    const chat = llm.startChat({ system: "Be brief." });
    expect(await say(chat, "one")).toBe("answer 1");
    expect(await say(chat, "two")).toBe("answer 2");
    expect(prompts()[1]).toBe(
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\none<|im_end|>\n<|im_start|>assistant\nanswer 1<|im_end|>\n" +
        "<|im_start|>user\ntwo<|im_end|>\n<|im_start|>assistant\n",
    );
    expect(chat.history).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "one" },
      { role: "assistant", content: "answer 1" },
      { role: "user", content: "two" },
      { role: "assistant", content: "answer 2" },
    ]);
  });

  it("take parts, and chat options that a turn can override", async () => {
    const { llm, native } = await load();
    const chat = llm.startChat({ temperature: 0.5, topP: 0.9, stop: "zzz" });
    await chat.send([{ type: "text", text: "hi" }], { temperature: 0.7 }).result;
    expect(native.generator.requests[0]!.sampling).toMatchObject({ temperature: 0.7, topP: 0.9 });
  });

  it("give copies of the history", async () => {
    const { llm } = await load();
    const chat = llm.startChat();
    await say(chat, "one");
    chat.history.pop();
    (chat.history[0] as { content: string }).content = "changed";
    expect(chat.history).toHaveLength(2);
    expect(chat.history[0]).toEqual({ role: "user", content: "one" });
  });
});

describe("ending a turn early", () => {
  it("break keeps the partial answer as a normal turn", async () => {
    const { llm, native } = await load();
    const chat = llm.startChat();
    const stream = chat.send("long");
    for await (const chunk of stream) if (chunk.text.length > 0) break;
    const { text, finishReason } = await stream.result;
    expect(finishReason).toBe("stop");
    expect(text).not.toBe("");
    expect(chat.history).toEqual([
      { role: "user", content: "long" },
      { role: "assistant", content: text },
    ]);
    expect(native.generator.runningCount).toBe(0);
    expect(await say(chat, "next")).toBe("answer 2");
  });

  it("cancel() makes it as if the turn had never been asked", async () => {
    const { llm, prompts } = await load();
    const chat = llm.startChat();
    await say(chat, "one");
    const before = chat.history;
    const stream = chat.send("long");
    const reading = (async () => {
      for await (const chunk of stream) if (chunk.text.length > 0) await stream.cancel();
    })();
    await reading;
    expect((await stream.result).finishReason).toBe("cancelled");
    expect(chat.history).toEqual(before);
    await say(chat, "two");
    const fresh = llm.startChat({ history: before });
    await say(fresh, "two");
    expect(prompts().at(-2)).toBe(prompts().at(-1));
  });

  it("a signal rejects and forgets the turn", async () => {
    const { llm } = await load();
    const chat = llm.startChat();
    const controller = new AbortController();
    const stream = chat.send("long", { signal: controller.signal });
    const reason = new Error("enough");
    const reading = (async () => {
      for await (const chunk of stream) if (chunk.text.length > 0) controller.abort(reason);
    })();
    await expect(reading).rejects.toBe(reason);
    expect(chat.history).toEqual([]);
    expect(chat.busy).toBe(false);
    await expect(chat.send("x", { signal: AbortSignal.abort(reason) }).result).rejects.toBe(reason);
    expect(await say(chat, "one")).toBe("answer 1");
  });

  it("a failure forgets the turn", async () => {
    const error = { code: "native" as const, message: "lost", afterTokens: 1 };
    const { llm } = await load((prompt) => (prompt.includes("bad") ? { ids: [65, 66], error } : "fine"));
    const chat = llm.startChat();
    await expect(chat.send("bad").result).rejects.toThrow("lost");
    expect(chat.history).toEqual([]);
    expect(await say(chat, "good")).toBe("fine");
  });
});

describe("one turn at a time", () => {
  it("refuses a second and a third call while one runs, and goes on afterwards", async () => {
    const { llm } = await load();
    const chat = llm.startChat();
    const first = chat.send("one");
    expect(chat.busy).toBe(true);
    for (const call of [() => chat.send("two"), () => chat.send("three"), () => chat.undo(), () => chat.edit(0, "x")]) {
      expect(call).toThrow(BusyError);
    }
    expect((await first.result).text).toBe("answer 1");
    expect(chat.busy).toBe(false);
    expect(await say(chat, "two")).toBe("answer 2");
  });

  it("is free again right after the loop, the result, stop() and wrong options", async () => {
    const { llm } = await load();
    const chat = llm.startChat();
    for await (const chunk of chat.send("one")) expect(chunk).toBeDefined();
    await chat.send("two").stop();
    expect(() => chat.send("three", { topP: 5 })).toThrow(OptionError);
    expect(() => chat.send("three", { minNewTokens: 2, maxNewTokens: 1 })).toThrow(OptionError);
    expect(() => chat.send(5 as never)).toThrow(OptionError);
    await chat.send("three").result;
    expect(chat.history).toHaveLength(6);
  });

  it("lets chats of one pipeline run side by side", async () => {
    const { llm } = await load();
    const chats = Array.from({ length: 5 }, (_, index) => llm.startChat({ system: `chat ${index}` }));
    await Promise.all(chats.map(async (chat) => [await say(chat, "one"), await say(chat, "two")]));
    for (const chat of chats) expect(chat.history.map(({ content }) => content).slice(1)).toEqual(["one", "answer 1", "two", "answer 2"]); // prettier-ignore
  });
});

describe("edit, undo, fork", () => {
  it("edit changes one message", async () => {
    const { llm, prompts } = await load();
    const chat = llm.startChat({ system: "A" });
    await say(chat, "one");
    chat.edit(0, "B");
    chat.edit(1, "ONE");
    chat.edit(2, "my answer");
    await say(chat, "two");
    expect(prompts().at(-1)).toContain(
      "system\nB<|im_end|>\n<|im_start|>user\nONE<|im_end|>\n<|im_start|>assistant\nmy answer",
    );
    for (const index of [-1, 5, 1.5, NaN, "0"]) expect(() => chat.edit(index as never, "x")).toThrow(OptionError);
    expect(() => chat.edit(1, 5 as never)).toThrow(OptionError);
    expect(() => llm.startChat().edit(0, "x")).toThrow(/no messages yet/);
  });

  it("undo takes back whole turns and keeps the system text", async () => {
    const { llm } = await load();
    const chat = llm.startChat({ system: "S" });
    for (const text of ["one", "two", "three"]) await say(chat, text);
    chat.undo();
    expect(chat.history.at(-1)).toEqual({ role: "assistant", content: "answer 2" });
    chat.undo(2);
    expect(chat.history).toEqual([{ role: "system", content: "S" }]);
    expect(() => chat.undo()).toThrow(OptionError);
    await say(chat, "one");
    for (const turns of [0, 2, -1, 1.5]) expect(() => chat.undo(turns)).toThrow(OptionError);
    expect(await say(chat, "two")).toBe("answer 2");
  });

  it("fork is independent, also of a turn that runs", async () => {
    const { llm } = await load();
    const chat = llm.startChat({ topP: 0.5 });
    await say(chat, "one");
    const running = chat.send("long");
    const fork = chat.fork();
    expect(fork.busy).toBe(false);
    expect(await say(fork, "two")).toBe("answer 2");
    await running.cancel();
    expect(chat.history).toHaveLength(2);
    expect(fork.history).toHaveLength(4);
    expect(fork.toJSON().options).toEqual({ topP: 0.5 });
  });
});

describe("save and restore", () => {
  it("goes on where it was left, through JSON text", async () => {
    const { llm, prompts } = await load();
    const chat = llm.startChat({ system: "S", temperature: 0.5, seed: undefined, stop: ["zzz"] });
    await say(chat, "one");
    const saved = JSON.stringify(chat);
    expect(JSON.parse(saved)).toEqual({
      version: 1,
      options: { temperature: 0.5, stop: ["zzz"] },
      history: [
        { role: "system", content: "S" },
        { role: "user", content: "one" },
        { role: "assistant", content: "answer 1" },
      ],
    });
    for (const restored of [llm.restoreChat(saved), llm.restoreChat(chat.toJSON())]) {
      expect(restored.toJSON()).toEqual(chat.toJSON());
      await say(restored, "two");
    }
    await say(chat, "two");
    expect(new Set(prompts().slice(-3)).size).toBe(1);
  });

  it.each([
    ["{", "chat"],
    [null, "chat"],
    [{ version: 2, options: {}, history: [] }, "chat.version"],
    [{ version: 1, options: { topP: 0 }, history: [] }, "chat.options.topP"],
    [{ version: 1, options: { temprature: 0 }, history: [] }, "chat.options.temprature"],
    [{ version: 1, options: {}, history: [{ role: "wizard", content: "x" }] }, "chat.history[0].role"],
    [{ version: 1, options: {}, history: [{ role: "user", content: 5 }] }, "chat.history[0].content"],
    [{ version: 1, options: {}, history: [], more: 1 }, "chat.more"],
  ])("refuses %j", async (json, path) => {
    const { llm } = await load();
    expect(() => llm.restoreChat(json as never)).toThrow(expect.objectContaining({ code: "option", path }));
  });

  it.each([
    [{ system: 5 }, "system"],
    [{ sistem: "x" }, "sistem"],
    [{ system: "x", history: [{ role: "user", content: "y" }] }, "system"],
    [{ history: [{ role: "nobody", content: "x" }] }, "history[0].role"],
    [{ signal: AbortSignal.abort() }, "signal"],
    [{ minNewTokens: 5, maxNewTokens: 1 }, "minNewTokens"],
  ])("startChat refuses %j", async (options, path) => {
    const { llm } = await load();
    expect(() => llm.startChat(options as never)).toThrow(expect.objectContaining({ code: "option", path }));
  });
});

it("refuses turns after the pipeline is disposed, but still gives the history", async () => {
  const { llm } = await load();
  const chat = llm.startChat();
  await say(chat, "one");
  const running = chat.send("long");
  const rejected = expect(running.result).rejects.toBeInstanceOf(DisposedError);
  await llm.dispose();
  await rejected;
  expect(() => chat.send("x")).toThrow(DisposedError);
  expect(chat.history).toHaveLength(2);
  expect(JSON.parse(JSON.stringify(chat))).toHaveProperty("version", 1);
});
