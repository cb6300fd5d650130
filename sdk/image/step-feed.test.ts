import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { RgbImage } from "../media/rgb-image.js";
import type { ImageStep } from "./image-result.js";
import { StepFeed } from "./step-feed.js";

const PATIENCE = 20;

interface Decoding {
  tokens: number[];
  finish(): void;
}

/** A feed whose previews are decoded when the test says so. */
function slowFeed(previewEvery: number | undefined, of = 12) {
  const steps: ImageStep[] = [];
  const decodings: Decoding[] = [];
  const failures: unknown[] = [];
  const picture = (first: number): RgbImage => new RgbImage(1, 1, Uint8Array.of(first, 0, 0));
  const feed = new StepFeed({
    of,
    previewEvery,
    patienceMs: PATIENCE,
    push: (step) => steps.push(step),
    onFailure: (error) => failures.push(error),
    decode: (grids, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
        decodings.push({
          tokens: grids.map(({ length }) => length),
          finish: () => resolve(grids.map(({ length }) => picture(length))),
        });
      }),
  });
  const made = (...counts: number[]): number[][] => counts.map((count) => Array.from({ length: count }, (_, i) => i));
  return { feed, steps, decodings, failures, made, picture };
}

const tokens = (steps: readonly ImageStep[]): number[] => steps.map(({ token }) => token);

describe("slow previews", () => {
  it("do not hold the steps up; they come with a later one, and only the latest that became due follows", async () => {
    const { feed, steps, decodings, made } = slowFeed(2);
    feed.advance(made(2));
    await delay(PATIENCE * 3);
    expect(tokens(steps)).toEqual([1, 2]);
    for (const count of [3, 4, 5, 6, 7]) feed.advance(made(count));
    await nextTurn();
    expect(tokens(steps)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(decodings.map((decoding) => decoding.tokens)).toEqual([[2]]);
    decodings[0]!.finish();
    await nextTurn();
    expect(steps.at(-1)).toMatchObject({ token: 7, of: 12, previewToken: 2, previews: [{ width: 1 }] });
    expect(decodings.map((decoding) => decoding.tokens)).toEqual([[2], [6]]);
    decodings[1]!.finish();
    await nextTurn();
    expect(steps.at(-1)).toMatchObject({ token: 7, previewToken: 6 });
  });

  it("are ended when all tokens are there: the finished pictures follow", async () => {
    const { feed, steps, decodings, failures, made, picture } = slowFeed(5);
    feed.advance(made(5));
    await delay(PATIENCE * 3);
    feed.advance(made(12));
    await feed.settle();
    expect(failures).toEqual([]);
    expect(tokens(steps)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    let finish!: (images: RgbImage[]) => void;
    const completing = feed.complete(new Promise((resolve) => (finish = resolve)));
    await delay(PATIENCE * 3);
    expect(steps.at(-1)).toEqual({ token: 12, of: 12 });
    finish([picture(12)]);
    await completing;
    expect(steps.at(-1)).toMatchObject({ token: 12, previewToken: 12, previews: [{ width: 1 }] });
    expect(decodings).toHaveLength(1);
  });
});

describe("fast previews", () => {
  it("come with their own steps, which wait for them", async () => {
    const { feed, steps, decodings, made } = slowFeed(4);
    feed.advance(made(9));
    expect(tokens(steps)).toEqual([1, 2, 3]);
    decodings[0]!.finish();
    await nextTurn();
    decodings[1]!.finish();
    await feed.settle();
    expect(steps.map(({ token, previewToken }) => previewToken ?? token)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(steps.filter(({ previews }) => previews).map(({ token }) => token)).toEqual([4, 8]);
  });

  it("of pictures of which some wait show what each has; progress is the mean", async () => {
    const { feed, steps, decodings, made } = slowFeed(4);
    feed.advance(made(12, 0));
    decodings[0]!.finish();
    await feed.settle();
    expect(tokens(steps)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(decodings[0]!.tokens).toEqual([12, 0]);
  });
});

describe("ending", () => {
  it("cuts a preview short and tells the remaining steps without", async () => {
    const { feed, steps, failures, made } = slowFeed(4);
    feed.advance(made(6));
    await feed.end();
    expect(tokens(steps)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(steps.some(({ previews }) => previews)).toBe(false);
    expect(failures).toEqual([]);
  });

  it("without previews the last step comes with its token", async () => {
    const { feed, steps, made } = slowFeed(undefined);
    feed.advance(made(12));
    await feed.settle();
    await feed.complete(Promise.resolve([]));
    expect(tokens(steps)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });
});
