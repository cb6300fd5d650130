import { expect, it } from "vitest";
import { VISION_FAMILIES } from "../../models/inspect-model.js";
import { FAMILIES } from "./registry.js";

it("inspectModel knows the same families", () => {
  expect([...VISION_FAMILIES].sort()).toEqual(FAMILIES.flatMap(({ modelTypes }) => modelTypes).sort());
});
