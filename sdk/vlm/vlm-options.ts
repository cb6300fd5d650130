import { z } from "zod";
import { loadOptionFields, parseLoadOptions, type LoadOptions } from "../core/load-options.js";
import { wholeNumber } from "../core/option-schemas.js";
import { callOptionFields, callRules, type CallOptions } from "../generation/call-options.js";
import type { ImageInput } from "../media/image.js";

/** Options of {@link VLMPipeline.load}. */
export interface VLMLoadOptions extends LoadOptions {
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
  return parseLoadOptions(value, loadSchema);
}
