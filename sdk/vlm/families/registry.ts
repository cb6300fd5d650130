import { UnsupportedError } from "../../core/errors.js";
import type { VisionModelSource } from "../../models/vision-model.js";
import type { VisionFamily } from "./family.js";
import { janus } from "./janus.js";
import { llava } from "./llava.js";

/** All families; `VISION_FAMILIES` of `models/inspect-model.ts` names their model types too, as it must not import them. */
export const FAMILIES: readonly VisionFamily[] = [janus, llava];

/** The family of a model. @throws UnsupportedError naming those there are */
export function familyOf(source: VisionModelSource): VisionFamily {
  const found = FAMILIES.find(({ modelTypes }) => modelTypes.includes(source.family));
  if (found) return found;
  const known = FAMILIES.map(({ name, modelTypes }) => `${name} (${modelTypes.join(", ")})`).join(", ");
  const type = source.family === "" ? "names no model_type" : `names the model_type "${source.family}"`;
  throw new UnsupportedError(
    `${source.path}: config.json ${type}, which VLMPipeline does not know. It takes ${known}.`,
    { subject: source.family },
  );
}
