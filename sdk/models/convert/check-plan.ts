import { OptionError } from "../../core/errors.js";
import { GROUP_SIZES, GROUP_SIZES_IN_WORDS, storedFormat, type WeightsOption } from "../../core/weight-options.js";
import type { Architecture } from "./models/common/architecture.js";
import { DEFAULT_GROUP_SIZE, type WeightPlan } from "./ir/weights.js";

/**
 * Checks that weights can be stored as they are asked for, under the names that the options have everywhere.
 *
 * @throws OptionError
 */
export function checkPlan({ format, groupSize }: WeightPlan, { name, formats }: Architecture): void {
  if (!formats.includes(format)) {
    const expected = formats.join(" or ");
    throw new OptionError(`weights must be ${expected} for a checkpoint of the kind ${name}, received ${format}.`, {
      ...{ path: "weights", expected, received: format },
    });
  }
  if (groupSize === undefined) return;
  const fields = { path: "groupSize", received: groupSize };
  if (format !== "int4") {
    throw new OptionError(
      `groupSize is for int4 weights only, but weights is ${format}. Leave it out, or set weights to int4.`,
      {
        ...{ ...fields, expected: "nothing unless weights is int4" },
      },
    );
  }
  if (GROUP_SIZES.some((size) => size === groupSize)) return;
  const expected = GROUP_SIZES_IN_WORDS;
  throw new OptionError(`groupSize must be ${expected}, received ${groupSize}.`, { ...fields, expected });
}

/** For `explain()`: `f16`, `int8`, `int4 in groups of 64`. */
export function planInWords(plan: { format?: WeightsOption | undefined; groupSize?: number | undefined }): string {
  const { groupSize = DEFAULT_GROUP_SIZE } = plan;
  const format = storedFormat(plan.format);
  if (format !== "int4") return format;
  return groupSize === -1 ? "int4, a scale a row" : `int4 in groups of ${groupSize}`;
}
