import { describe, expect, it } from "vitest";
import { MetricsClock } from "../core/metrics.js";
import type { ImageLayout, OpenedFamily } from "./families/family.js";
import type { Picture } from "./pictures.js";
import { expandPlaceholders, placePictures, rowsOf } from "./vision-prompt.js";

// A family whose pictures are cut into tiles, with words between them, and numbered: what SmolVLM, InternVL and Phi need.
const FAMILY: OpenedFamily = {
  placeholder: "<picture>",
  imageToken: { text: "<tile>", id: 9 },
  key: "",
  prepare: () => Promise.reject(new Error("not used")),
  encode: () => Promise.reject(new Error("not used")),
};

const HIDDEN = 2;

function picture(key: string, runs: readonly number[]): Picture {
  const layout: ImageLayout = { runs, text: (index) => `[${index}:${runs.map(() => "<tile>").join("|")}]` };
  const count = runs.reduce((sum, run) => sum + run, 0);
  const rows = Float32Array.from({ length: count * HIDDEN }, (_, index) => Math.floor(index / HIDDEN));
  return { key, layout, rows: async () => rows };
}

describe("expandPlaceholders", () => {
  it("puts each picture's text in the place of its placeholder, with its number", () => {
    const pictures = [picture("a", [2]), picture("b", [1, 1])];
    expect(expandPlaceholders("x <picture>y<picture>", FAMILY, pictures)).toBe("x [0:<tile>]y[1:<tile>|<tile>]");
    expect(expandPlaceholders("nothing", FAMILY, [])).toBe("nothing");
  });

  it.each([
    ["<picture>", 0],
    ["none", 1],
    ["<picture><picture>", 1],
  ])("refuses %j for %i pictures", (text, count) => {
    const pictures = Array.from({ length: count }, () => picture("a", [1]));
    expect(() => expandPlaceholders(text, FAMILY, pictures)).toThrow(
      expect.objectContaining({ code: "option", path: "prompt" }),
    );
  });
});

describe("placePictures", () => {
  it("repeats image tokens for each row of their run", () => {
    const placed = placePictures([1, 9, 2, 9, 9, 3], FAMILY, [picture("a", [2]), picture("b", [1, 3])]);
    expect(placed).toEqual({ ids: [1, 9, 9, 2, 9, 9, 9, 9, 3], starts: [1, 4, 5] });
  });

  it("refuses ids with more or fewer image tokens than runs", () => {
    for (const ids of [[1], [9, 9]]) {
      expect(() => placePictures(ids, FAMILY, [picture("a", [1])])).toThrow(
        expect.objectContaining({ code: "option" }),
      );
    }
  });
});

describe("rowsOf", () => {
  it("gives each run its rows and a key of its own, the same for the same picture", async () => {
    const pictures = [picture("aa", [2, 1]), picture("bb", [3]), picture("aa", [2, 1])];
    const placed = placePictures([9, 5, 9, 9, 9, 9], FAMILY, pictures);
    const work = { clock: new MetricsClock(0), callSite: {}, signal: new AbortController().signal };
    const rows = await rowsOf(pictures, placed, HIDDEN, work);
    expect(rows.map(({ start, count, rows: values }) => [start, count, [...values]])).toEqual([
      [0, 2, [0, 0, 1, 1]],
      [3, 1, [2, 2]],
      [4, 3, [0, 0, 1, 1, 2, 2]],
      [7, 2, [0, 0, 1, 1]],
      [9, 1, [2, 2]],
    ]);
    const keys = rows.map(({ key }) => key);
    expect(keys.slice(3)).toEqual(keys.slice(0, 2));
    expect(new Set(keys).size).toBe(3);
    expect(keys[1]).toMatch(/^[0-9a-f]{64}$/);
  });
});
