import { z } from "zod";
import { loadOptionFields, parseLoadOptions, type LoadOptions } from "../core/load-options.js";
import { callOptionFields, callRules, type CallOptions } from "../generation/call-options.js";

/** Options of {@link LLMPipeline.load}. */
export interface LLMLoadOptions extends LoadOptions {
  /** A chat template (Jinja) to use in place of the model's own. */
  chatTemplate?: string | undefined;
}

/** Options of one call. */
export type LLMOptions = CallOptions;

const loadSchema = z.strictObject({
  ...loadOptionFields,
  chatTemplate: z.string().min(1).describe("a chat template (a string that is not empty)").optional(),
});

/** How calls are checked. */
export const LLM_CALLS = callRules<LLMOptions>(z.strictObject(callOptionFields));

/** @throws OptionError */
export function parseLLMLoadOptions(value: unknown): LLMLoadOptions {
  return parseLoadOptions(value, loadSchema);
}
