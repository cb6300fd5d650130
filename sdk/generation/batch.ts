import type { CallSite } from "../core/call-site.js";
import { generationLayer, randomSeed } from "../core/generation-options.js";
import type { Lifecycle } from "../core/lifecycle.js";
import { startAnswer } from "./answer.js";
import type { CallOptions } from "./call-options.js";
import { checkPrompt } from "./prompt.js";
import type { TextModel } from "./text-model.js";
import type { TextResult } from "./text-result.js";

/**
 * Runs several prompts together. All are checked before any is started; the seed of prompt *i* is `seed + i`. If one fails the
 * others are ended, and the first error is thrown once all have.
 */
export async function generateBatch<Part>(
  model: TextModel<Part>,
  lifecycle: Lifecycle,
  prompts: readonly unknown[],
  options: CallOptions,
  callSite: CallSite,
): Promise<TextResult[]> {
  const checked = prompts.map((prompt, index) => checkPrompt(model.messages, prompt, options, `prompt[${index}]`));
  const chosen = options.seed ?? randomSeed();
  const streams = checked.map((prompt, index) => {
    // The highest seeds wrap around.
    const seed = (chosen + index) % (Number.MAX_SAFE_INTEGER + 1);
    const layer = generationLayer("call", { ...options, seed });
    return startAnswer(
      model,
      lifecycle,
      { prompt, layers: [layer], callSite, resultOnly: true },
      { signal: options.signal },
    );
  });
  try {
    return await Promise.all(streams.map((stream) => stream.result));
  } catch (error) {
    await Promise.all(streams.map((stream) => stream.cancel()));
    throw error;
  }
}
