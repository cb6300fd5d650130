import { z } from "zod";
import { loadOptionFields, parseLoadOptions, type LoadOptions } from "../core/load-options.js";
import { wholeNumber } from "../core/option-schemas.js";
import { callOptionFields, callRules, type CallOptions } from "../generation/call-options.js";
import type { ImageInput } from "../media/image.js";
import { groupSizeField, type GroupSize } from "../models/convert/check-plan.js";

/** Options of {@link VLMPipeline.load}. */
export interface VLMLoadOptions extends Omit<LoadOptions, "weights"> {
  /**
   * How a checkpoint's matrices are stored when it is converted: `int8` and `int4` need half and a quarter of the memory and time of
   * `f16`; answers may differ. Not for folders that hold OpenVINO IR already. Defaults to `f16`.
   */
  weights?: "f16" | "int8" | "int4" | undefined;
  /** Of `int4`: values that share a scale; -1 = a whole row. Defaults to 64. */
  groupSize?: GroupSize | undefined;
  /** A chat template (Jinja) to use in place of the model's own. */
  chatTemplate?: string | undefined;
  /** Device of the vision encoder; `properties` do not apply to it where it is another one than `device`. Defaults to `device`. */
  visionDevice?: string | undefined;
  /**
   * Bytes of features of pictures that are kept, so that further questions about a picture run no encoder. A picture of Janus-Pro-1B
   * takes 4.7 MB. 0 keeps none. Defaults to 134217728 (128 MiB).
   */
  imageCacheBytes?: number | undefined;
}

/** Options of one call. */
export interface VLMOptions extends CallOptions {
  /** Pictures that stand in front of a prompt that is a string (in a raw prompt: in the places of its placeholders). Defaults to none. */
  images?: readonly ImageInput[] | undefined;
}

/** Bytes of features that are kept. */
export const IMAGE_CACHE_BYTES = 128 * 1024 * 1024;

const loadSchema = z.strictObject({
  ...loadOptionFields,
  weights: z.enum(["f16", "int8", "int4"]).optional(),
  groupSize: groupSizeField.optional(),
  chatTemplate: z.string().min(1).describe("a chat template (a string that is not empty)").optional(),
  visionDevice: loadOptionFields.device,
  imageCacheBytes: wholeNumber(0).optional(),
});

/** How calls are checked. */
export const VLM_CALLS = callRules<VLMOptions>(
  z.strictObject({ ...callOptionFields, images: z.array(z.unknown()).describe("an array of images").optional() }),
);

/** @throws OptionError */
export function parseVLMLoadOptions(value: unknown): VLMLoadOptions {
  // The common checks do not look at `weights`, which is the only field of another type.
  return parseLoadOptions(value, loadSchema as unknown as z.ZodType<LoadOptions>) as VLMLoadOptions;
}
