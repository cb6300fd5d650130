import { afterEach, beforeEach, expect } from "vitest";
import { setNativeForTesting } from "../core/native.js";
import type { TextChunk } from "../generation/text-result.js";
import { loadFakeLLM, type FakeLLM } from "./llm-fixture.js";

/**
 * For a test file about LLM pipelines: what `load` opens is disposed after each test, and no test may leave an unhandled
 * rejection behind.
 */
export function useFakeLLMs(): typeof loadFakeLLM {
  const opened: FakeLLM[] = [];
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  beforeEach(() => void process.on("unhandledRejection", note));
  afterEach(async () => {
    for (const { llm } of opened.splice(0)) await llm.dispose();
    // Node reports unhandled rejections after the microtasks of a turn.
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off("unhandledRejection", note);
    setNativeForTesting(undefined);
    expect(unhandled.splice(0)).toEqual([]);
  });
  return async (...parts) => {
    const fake = await loadFakeLLM(...parts);
    opened.push(fake);
    return fake;
  };
}

/** Lets the event loop turn. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** All chunks of a stream put together. */
export async function readAll(stream: AsyncIterable<TextChunk>): Promise<{ text: string; tokens: number[] }> {
  const all = { text: "", tokens: [] as number[] };
  for await (const { text, tokens } of stream) {
    all.text += text;
    all.tokens.push(...tokens);
  }
  return all;
}
