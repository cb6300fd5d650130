import { fileURLToPath } from "node:url";
import { setNativeForTesting } from "../core/native.js";
import type { NativeRequest } from "../core/native-types.js";
import { LLMPipeline } from "../llm/llm-pipeline.js";
import type { LLMLoadOptions } from "../llm/llm-options.js";
import { Tokenizer } from "../text/tokenizer.js";
import { FakeNative, type FakeAnswer, type FakeNativeOptions } from "./fake-native.js";

/** Folder of a tiny real model: its tokenizer and chat template are used, its weights are not. */
export const TINY_MODEL = fileURLToPath(new URL("../../test/fixtures/llm/llama-tiny-ir", import.meta.url));

/** An LLM pipeline over a scripted addon. */
export interface FakeLLM {
  llm: LLMPipeline;
  native: FakeNative;
  tokenizer: Tokenizer;
  /** Texts of all prompts that reached the engine, control tokens included. */
  prompts(): string[];
}

/** What the scripted model says to a prompt text: a text, or an answer in tokens. */
export type Script = (prompt: string, request: NativeRequest) => string | FakeAnswer;

/**
 * Loads the tiny model over a scripted addon.
 *
 * @param script - defaults to a model that repeats the last user message
 */
export async function loadFakeLLM(
  script: Script = echo,
  options: LLMLoadOptions = {},
  native: Omit<FakeNativeOptions, "answers"> = {},
): Promise<FakeLLM> {
  const tokenizer = await Tokenizer.fromFolder(TINY_MODEL);
  const textOf = (request: NativeRequest): string => tokenizer.decode(request.promptIds, { skipSpecialTokens: false });
  const fake = new FakeNative({
    ...native,
    answers: (request) => {
      const answer = script(textOf(request), request);
      if (typeof answer !== "string") return answer;
      return { ids: tokenizer.encode(answer, { addSpecialTokens: false, allowControlTokens: false }) };
    },
  });
  setNativeForTesting(fake);
  const llm = await LLMPipeline.load(TINY_MODEL, { cache: false, ...options });
  return { llm, native: fake, tokenizer, prompts: () => fake.generator.requests.map(textOf) };
}

/** Repeats the last user message of the tiny model's chat template. */
export function echo(prompt: string): string {
  const user = prompt.lastIndexOf("<|im_start|>user\n");
  return prompt.slice(user + "<|im_start|>user\n".length, prompt.lastIndexOf("<|im_end|>"));
}
