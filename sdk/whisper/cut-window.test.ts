import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { compressionRatio } from "./compression.js";
import { cutWindow } from "./cut-window.js";

interface GoldenWindow {
  seek: number;
  size: number;
  ids: number[];
  segments: { start: number; end: number; ids: number[] }[];
  /** What was heard again is left out of `ids`. */
  unfinished?: true;
  next?: number;
  text?: string;
  compressionRatio?: number;
}

interface Golden {
  recordings: { model: string; clip: string; timestampBegin: number; windows: GoldenWindow[] }[];
}

const golden = JSON.parse(
  readFileSync(new URL("../../test/fixtures/whisper/golden/openai-segments.json", import.meta.url), "utf8"),
) as Golden;

const windows = golden.recordings.flatMap(({ model, clip, timestampBegin, windows: all }) =>
  all.map((window) => ({ name: `${model} ${clip} at ${window.seek}`, timestampBegin, window })),
);

describe("windows of openai/whisper", () => {
  it.each(windows)("$name: segments and the next window", ({ window, timestampBegin }) => {
    // The end that was heard again: the last timestamp once more, and text after it.
    const rest = window.unfinished ? [window.ids.at(-1)!, 400, 401] : [];
    const cut = cutWindow([...window.ids, ...rest], window.size, { timestampBegin });
    const offset = window.seek / 100;
    const segments = cut.slices.map(({ start, end, ids }) => ({
      start: Number((offset + start).toFixed(2)),
      end: Number((offset + end).toFixed(2)),
      ids,
    }));
    expect(segments).toEqual(window.segments);
    expect(cut.rest).toEqual(rest);
    expect(window.seek + cut.advance).toBe(window.next ?? window.seek + window.size);
  });

  it.each(windows.filter(({ window }) => window.text !== undefined))("$name: compression ratio", ({ window }) => {
    // Node's zlib is Chromium's, which finds slightly other matches than the original.
    const bytes = Buffer.byteLength(window.text!);
    const compressed = bytes / compressionRatio(window.text!);
    expect(Math.abs(compressed - bytes / window.compressionRatio!)).toBeLessThanOrEqual(3.1);
  });
});

describe("rules", () => {
  const T = 1000;
  const cut = (ids: number[], size = 3000) => cutWindow(ids, size, { timestampBegin: T });

  it("makes one segment of a text without timestamps, as long as the window", () => {
    expect(cut([1, 2], 1234)).toEqual({
      slices: [{ start: 0, end: 12.34, ids: [1, 2] }],
      advance: 1234,
      complete: false,
      closed: 0,
      rest: [],
    });
  });

  it("ends one segment without a pair at its last timestamp, unless that is the very first", () => {
    expect(cut([T, 1, T + 100]).slices).toEqual([{ start: 0, end: 2, ids: [T, 1, T + 100] }]);
    expect(cut([T, 1, 2], 500).slices[0]!.end).toBe(5);
    expect(cut([T + 25, 1, 2], 500).slices[0]!.end).toBe(5);
  });

  it("a text that ends with one timestamp is done with the window", () => {
    const { slices, advance, complete } = cut([T, 1, T + 50, T + 50, 2, T + 100]);
    expect(slices.map(({ start, end }) => [start, end])).toEqual([
      [0, 1],
      [1, 2],
    ]);
    expect([advance, complete]).toEqual([3000, true]);
  });

  it("goes on at the last pair where the text breaks off", () => {
    const { slices, advance, closed, rest } = cut([T, 1, T + 50, T + 60, 2, 3]);
    expect(slices).toEqual([{ start: 0, end: 1, ids: [T, 1, T + 50] }]);
    expect([advance, closed, rest]).toEqual([100, 100, [T + 60, 2, 3]]);
  });

  it("goes on at the last pair where nothing follows it", () => {
    expect(cut([T, 1, T + 50, T + 50])).toMatchObject({ advance: 100, closed: 100, rest: [T + 50] });
  });

  it("does not take a lone timestamp for an end", () => {
    expect(cut([T])).toMatchObject({ complete: false, advance: 3000 });
    expect(cut([])).toMatchObject({ slices: [{ ids: [] }], advance: 3000 });
  });
});
