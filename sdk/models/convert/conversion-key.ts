import { keyOfFiles } from "../file-key.js";
import type { Checkpoint } from "./architecture.js";
import { architectureNamed } from "./architectures.js";
import { CONVERTER_VERSION } from "./conversion.js";
import { DEFAULT_GROUP_SIZE, type WeightPlan } from "./weights.js";

/**
 * Stands for all that decides what a conversion holds: the checkpoint's files, how weights are stored, and this converter.
 *
 * @throws ModelError naming files that are missing
 */
export async function conversionKey(checkpoint: Checkpoint, { format, groupSize }: WeightPlan): Promise<string> {
  const files = await architectureNamed(checkpoint.architecture).files(checkpoint);
  const how = format === "int4" ? `int4 ${groupSize ?? DEFAULT_GROUP_SIZE}` : format;
  return keyOfFiles(files, checkpoint.architecture, how, `converter ${CONVERTER_VERSION}`);
}
