import { OptionError } from "../core/errors.js";
import type { WeightsOption } from "../core/weight-options.js";

/** OpenVINO IR of vision, image and speech models is used as it is. @throws OptionError if weights are asked for in another form */
export function refuseOtherWeights(folder: string, weights: WeightsOption = "file", groupSize?: number): void {
  if (weights === "file" && groupSize === undefined) return;
  const [path, received] = weights === "file" ? ["groupSize", groupSize] : ["weights", weights];
  const expected = path === "weights" ? '"file" or left out' : "left out";
  throw new OptionError(
    `${path} must be ${expected} for ${folder}: it is OpenVINO IR, which is used as it is. ` +
      "To choose the format, pass the checkpoint it was made from.",
    { path, expected: `${expected}, for a model in OpenVINO IR`, received },
  );
}
