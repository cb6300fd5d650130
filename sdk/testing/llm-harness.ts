import type { TextChunk } from "../generation/text-result.js";
import { useFakes } from "./fake-harness.js";
import { loadFakeLLM } from "./llm-fixture.js";

export { turns } from "./fake-harness.js";

/** For a test file about LLM pipelines; see {@link useFakes}. */
export function useFakeLLMs(): typeof loadFakeLLM {
  return useFakes(loadFakeLLM, ({ llm }) => llm.dispose());
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
