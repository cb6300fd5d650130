import { z } from "zod";

/** How a converted checkpoint's matrices are stored: half precision, or whole numbers of 8 or 4 bits with scales. */
export type WeightFormat = "f16" | "int8" | "int4";

/** How weights are asked for, in every pipeline. `file`: as the model's files have them; of a checkpoint in half precision. */
export type WeightsOption = "file" | WeightFormat;

/** A size of groups that can be asked for: those that runtimes have kernels for; -1 = a whole row. */
export type GroupSize = 32 | 64 | 128 | -1;

export const GROUP_SIZES: readonly GroupSize[] = [32, 64, 128, -1];
export const GROUP_SIZES_IN_WORDS = "32, 64, 128, or -1 for one scale a row";

/** The `weights` option. What a model's files allow is said where they are found. */
export const weightsField = z.enum(["file", "f16", "int8", "int4"]);

/** The `groupSize` option. */
export const groupSizeField = z.literal(GROUP_SIZES).describe(GROUP_SIZES_IN_WORDS);

/** The form that a conversion has. A checkpoint's own type (bf16, f32) is none that a converted model keeps. */
export function storedFormat(weights: WeightsOption = "file"): WeightFormat {
  return weights === "file" ? "f16" : weights;
}
