import { z } from "zod";
import { loadOptionFields, parseLoadOptions, type LoadOptions } from "../core/load-options.js";
import { callOptionFields, callRules, type CallOptions } from "../generation/call-options.js";
import { groupSizeField, type GroupSize } from "../models/convert/check-plan.js";

/** Options of {@link LLMPipeline.load}. */
export interface LLMLoadOptions extends Omit<LoadOptions, "weights"> {
  /**
   * `file`: the model's own weight values; a checkpoint is converted in half precision. `int8`: rounded to 8 bits for speed,
   * answers may differ. `int4`: rounded to 4 bits, for checkpoints only. Defaults to `file`.
   */
  weights?: "file" | "int8" | "int4" | undefined;
  /** Of `int4`: values that share a scale; -1 = a whole row. Defaults to 64. */
  groupSize?: GroupSize | undefined;
  /** A chat template (Jinja) to use in place of the model's own. */
  chatTemplate?: string | undefined;
}

/** Options of one call. */
export type LLMOptions = CallOptions;

const loadSchema = z.strictObject({
  ...loadOptionFields,
  weights: z.enum(["file", "int8", "int4"]).optional(),
  groupSize: groupSizeField.optional(),
  chatTemplate: z.string().min(1).describe("a chat template (a string that is not empty)").optional(),
});

/** How calls are checked. */
export const LLM_CALLS = callRules<LLMOptions>(z.strictObject(callOptionFields));

/** @throws OptionError */
export function parseLLMLoadOptions(value: unknown): LLMLoadOptions {
  // The common checks do not look at `weights`, which is the only field of another type.
  return parseLoadOptions(value, loadSchema as unknown as z.ZodType<LoadOptions>);
}
