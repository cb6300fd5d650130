import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { setNativeForTesting } from "../core/native.js";
import { FakeNative } from "../testing/fake-native.js";
import { loadFakeLLM, TINY_MODEL } from "../testing/llm-fixture.js";
import { LLMPipeline } from "./llm-pipeline.js";

afterEach(() => setNativeForTesting(undefined));

it("tells each option's value with its source, and facts of the load", async () => {
  const { llm } = await loadFakeLLM(undefined, { device: "CPU", kvCache: { precision: "f16" } });
  const { options, load, notes, prompt } = llm.explain({ temperature: 0.5, maxNewTokens: undefined });
  expect(options).toMatchObject({
    temperature: { value: 0.5, source: "call" },
    topP: { value: 1, source: "default" },
    maxNewTokens: { value: "what is left of the context (2048 tokens)", source: "default" },
    seed: { value: "drawn at random for each call", source: "default" },
    eosTokenIds: { value: [302], source: "model" },
    applyChatTemplate: { value: true, source: "default" },
  });
  expect(load).toMatchObject({
    device: { value: "CPU", source: "call" },
    attention: { value: "paged", source: "default" },
    weights: { value: "file", source: "default" },
    kvPrecision: { value: "f16", source: "call" },
    contextLength: { value: 2048, source: "model" },
    cache: { value: false, source: "call" },
  });
  expect(notes).toEqual([]);
  expect(prompt).toBeUndefined();
  await llm.dispose();
});

it("knows the chat's layer, and options without effect", async () => {
  const { llm } = await loadFakeLLM();
  const chat = llm.startChat({ topP: 0.5, topK: 5 });
  const { options, notes } = chat.explain({ topK: 7 });
  expect(options).toMatchObject({ topP: { value: 0.5, source: "chat" }, topK: { value: 7, source: "call" } });
  expect(notes).toEqual(["topK, topP: no effect, the answer is greedy (temperature 0)."]);
  expect((await chat.explain(undefined, "Hi")).prompt!.text).toContain("user\nHi<|im_end|>");
  expect(chat.history).toEqual([]);
  expect(() => chat.explain({ topP: 0 })).toThrow(/topP/);
  await llm.dispose();
});

it("renders a prompt and counts its tokens, runs nothing", async () => {
  const { llm, native } = await loadFakeLLM();
  const { prompt } = await llm.explain({ prompt: "Hello there." });
  expect(prompt).toEqual({ text: "<|im_start|>user\nHello there.<|im_end|>\n<|im_start|>assistant\n", tokens: 27 });
  const raw = await llm.explain({ prompt: "Hello", applyChatTemplate: false });
  expect(raw.prompt!.text).toBe("Hello");
  expect(native.generator.requests).toEqual([]);
  await llm.dispose();
});

it("tells that the system text is folded into the first user message", async () => {
  const chatTemplate =
    "{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}" +
    "[{{ m['role'] }}] {{ m['content'] }}\n{% endfor %}";
  const { llm } = await loadFakeLLM(undefined, { chatTemplate });
  const messages = [
    { role: "system" as const, content: "Be brief." },
    { role: "user" as const, content: "Hi" },
  ];
  const { prompt, notes, load } = await llm.explain({ prompt: messages });
  expect(prompt!.text).toBe("[user] Be brief.\n\nHi\n");
  expect(notes.join()).toContain("refuses the system role");
  expect(load["chatTemplate"]).toEqual({ value: "the option chatTemplate", source: "call" });
  await llm.dispose();
});

it("takes generation_config.json into account, and tells a fall-back of attention", async () => {
  const folder = await mkdtemp(join(tmpdir(), "pergola-explain-"));
  await cp(TINY_MODEL, folder, { recursive: true });
  const config = { do_sample: true, temperature: 0.6, top_p: 0.95, top_k: -4, eos_token_id: [302, 300] };
  await writeFile(join(folder, "generation_config.json"), JSON.stringify(config));
  setNativeForTesting(new FakeNative({ info: { attention: "stateful", fallbackReason: "no SDPA in the graph" } }));
  const llm = await LLMPipeline.load(folder, { cache: join(folder, "config.json") });
  const { options, notes, load } = llm.explain();
  expect(options).toMatchObject({
    temperature: { value: 0.6, source: "generation_config.json" },
    topP: { value: 0.95, source: "generation_config.json" },
    topK: { value: 0, source: "default" },
    eosTokenIds: { value: [302, 300], source: "model" },
  });
  expect(load["attention"]).toEqual({ value: "stateful", source: "model" });
  expect(load["cache"]).toEqual({ value: false, source: "call" });
  expect(notes.join("\n")).toMatch(
    /top_k of generation_config.json.*\nNo compile cache.*\nattention is stateful: no SDPA/,
  );
  await llm.dispose();
  await rm(folder, { recursive: true });
});

it("says when there is no chat template, and what to do", async () => {
  const folder = await mkdtemp(join(tmpdir(), "pergola-plain-"));
  await cp(TINY_MODEL, folder, { recursive: true });
  await rm(join(folder, "chat_template.jinja"));
  setNativeForTesting(new FakeNative({ answers: () => ({ ids: [65] }) }));
  const llm = await LLMPipeline.load(folder, { cache: false });
  expect(llm.explain().notes.join()).toContain("no chat template");
  await expect(llm.generate("Hi")).rejects.toMatchObject({ code: "model", file: folder });
  expect((await llm.generate("Hi", { applyChatTemplate: false })).tokens).toEqual([65]);
  await llm.dispose();
  await rm(folder, { recursive: true });
});
