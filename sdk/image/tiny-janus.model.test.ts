import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { goldenBytes, janusFixture, janusGoldens } from "../testing/janus-fixture.js";
import { ImagePipeline } from "./image-pipeline.js";

interface Golden {
  t2i: { cond_ids: number[]; greedy_tokens: number[]; step0_top5_ids: number[] };
  parallel: { forced_tokens: number[][] };
}

const golden = janusGoldens() as unknown as Golden;
const PROMPT = "A red cube on a blue table.";
/** Another prompt with as many tokens. */
const OTHER = "Z red cube on a blue table!";
const TOLERANCE = 2;

const furthest = (one: Uint8Array, other: Uint8Array): number =>
  one.reduce((most, value, index) => Math.max(most, Math.abs(value - other[index]!)), 0);

// The cache keeps the converted checkpoint, as a user's does.
let cache: string;
beforeAll(() => (cache = mkdtempSync(join(tmpdir(), "pergola-janus-"))));
afterAll(() => rmSync(cache, { recursive: true, force: true }));

describe.each([
  ["the checkpoint", "tiny", {}],
  ["the notebook's IR", "tiny-ir", {}],
  ["the notebook's IR with KV in the model's state", "tiny-ir", { attention: "stateful" }],
] as const)("%s", (_, folder, options) => {
  let image: ImagePipeline;
  beforeAll(async () => {
    image = await ImagePipeline.load(janusFixture(folder), { cache, ...options });
  });
  afterAll(() => image.dispose());

  it("makes the reference's greedy picture", async () => {
    const { tokens, images, finishReason, complete } = await image.generate(PROMPT, { temperature: 0 });
    expect(tokens).toEqual([golden.t2i.greedy_tokens]);
    expect(furthest(images[0]!.data, goldenBytes("t2i_pixels_uint8").data)).toBeLessThanOrEqual(TOLERANCE);
    const file = await sharp(janusFixture("goldens/t2i_greedy.png")).removeAlpha().raw().toBuffer();
    expect(furthest(images[0]!.data, file)).toBeLessThanOrEqual(TOLERANCE);
    expect([finishReason, complete]).toEqual(["stop", true]);
  });

  it("decodes given tokens to the reference's pixels, channel by channel; swapped channels would show", async () => {
    const { data } = await image.tokensToImage(golden.t2i.greedy_tokens);
    const expected = goldenBytes("t2i_pixels_uint8").data;
    const channel = (pixels: Uint8Array, index: number): Uint8Array => pixels.filter((_, at) => at % 3 === index);
    for (const index of [0, 1, 2]) {
      expect(furthest(channel(data, index), channel(expected, index))).toBeLessThanOrEqual(TOLERANCE);
      expect(furthest(channel(data, index), channel(expected, (index + 1) % 3))).toBeGreaterThan(50);
    }
  });

  it("a saved picture reads back equal", async () => {
    const picture = await image.tokensToImage(golden.parallel.forced_tokens[0]!);
    const back = await sharp(await picture.toBuffer("png"))
      .raw()
      .toBuffer();
    expect(back.equals(picture.data)).toBe(true);
  });

  it("the same seed gives the same picture, another run between; other seeds others", async () => {
    const one = await image.generate(PROMPT, { seed: 1 });
    const two = await image.generate(PROMPT, { seed: 2 });
    const again = await image.generate(PROMPT, { seed: 1 });
    expect(again.tokens).toEqual(one.tokens);
    expect(again.images[0]!.data).toEqual(one.images[0]!.data);
    expect(two.tokens).not.toEqual(one.tokens);
    const drawn = [await image.generate(PROMPT), await image.generate(PROMPT)];
    expect(drawn[0]!.tokens).not.toEqual(drawn[1]!.tokens);
    expect((await image.generate(PROMPT, { seed: drawn[0]!.seeds[0]! })).tokens).toEqual(drawn[0]!.tokens);
  });

  it("pictures made together are those made alone", async () => {
    const together = await image.generate(PROMPT, { n: 4, seed: 20 });
    for (const [index, seed] of [20, 21, 22, 23].entries()) {
      const alone = await image.generate(PROMPT, { seed });
      expect(alone.tokens[0]).toEqual(together.tokens[index]);
      expect(alone.images[0]!.data).toEqual(together.images[index]!.data);
    }
    expect(new Set(together.tokens.map(String)).size).toBe(4);
  });

  it("calls with prompts of different length at the same time are those made alone", async () => {
    const prompts = ["A cat.", `${PROMPT} `.repeat(4), PROMPT];
    const together = await Promise.all(prompts.map((prompt) => image.generate(prompt, { temperature: 0 })));
    for (const [index, prompt] of prompts.entries()) {
      const alone = await image.generate(prompt, { temperature: 0 });
      expect(together[index]!.tokens).toEqual(alone.tokens);
    }
    expect(together[2]!.tokens).toEqual([golden.t2i.greedy_tokens]);
  });

  it("follows guidance, temperature, topK and topP", async () => {
    const greedy = { temperature: 0 } as const;
    const tokensAt = async (options: object): Promise<number[]> => (await image.generate(PROMPT, options)).tokens[0]!;
    const [off, none, strong] = [
      await tokensAt({ ...greedy, guidance: 1 }),
      await tokensAt({ ...greedy, guidance: 0 }),
      await tokensAt({ ...greedy, guidance: 100 }),
    ];
    expect(off).not.toEqual(golden.t2i.greedy_tokens);
    expect(strong).not.toEqual(off);
    // At 0 only the length of the prompt counts.
    const other = await image.explain({ prompt: OTHER });
    expect(other.prompt!.tokens).toBe(golden.t2i.cond_ids.length);
    expect((await image.generate(OTHER, { ...greedy, guidance: 0 })).tokens[0]).toEqual(none);
    expect((await image.generate(OTHER, greedy)).tokens[0]).not.toEqual(golden.t2i.greedy_tokens);
    expect(await tokensAt({ topK: 1, seed: 9 })).toEqual(golden.t2i.greedy_tokens);
    expect(await tokensAt({ topP: 1e-6, seed: 9 })).toEqual(golden.t2i.greedy_tokens);
    const firsts = (await image.generate(PROMPT, { n: 24, seed: 100, topK: 5, temperature: 2 })).tokens.map(
      ([first]) => first!,
    );
    for (const first of firsts) expect(golden.t2i.step0_top5_ids).toContain(first);
  });

  it("previews begin with the rows that are done; stop() gives a filled picture", async () => {
    const stream = image.stream(PROMPT, { temperature: 0, previewEvery: 4 });
    const previews = [];
    for await (const step of stream) if (step.previews) previews.push(step);
    expect(previews.at(-1)).toMatchObject({ token: 16, of: 16, previewToken: 16 });
    expect(previews.at(-1)!.previews).toEqual((await stream.result).images);
    for (const step of previews) {
      const made = golden.t2i.greedy_tokens.slice(0, step.previewToken);
      const grid = Array.from({ length: 16 }, (_, at) => made[at] ?? made[made.length - 4 + (at % 4)]!);
      expect(step.previews![0]!.data).toEqual((await image.tokensToImage(grid)).data);
    }
    const stopped = image.stream(PROMPT);
    await stopped.stop();
    const { images, tokens, finishReason } = await stopped.result;
    expect(images[0]).toMatchObject({ width: 32, height: 32 });
    expect(tokens[0]!.length).toBeLessThan(16);
    expect(finishReason).toBe("stop");
  });

  it("goes on after errors", async () => {
    await expect(image.generate(PROMPT, { width: 512, height: 512 })).rejects.toThrow(/must be 32/);
    await expect(image.generate("word ".repeat(8000))).rejects.toMatchObject({ code: "context-length" });
    const ends = new AbortController();
    const aborted = image.generate(PROMPT, { n: 8, signal: ends.signal });
    setImmediate(() => ends.abort(new Error("enough")));
    await expect(aborted).rejects.toThrow("enough");
    expect((await image.generate(PROMPT, { temperature: 0 })).tokens).toEqual([golden.t2i.greedy_tokens]);
  });
});

describe("the checkpoint", () => {
  it("is converted once and kept", async () => {
    const before = readdirSync(cache, { recursive: true }).length;
    await using image = await ImagePipeline.load(janusFixture("tiny"), { cache });
    expect(image.info).toMatchObject({ format: "safetensors", imageSize: 32, imageTokens: 16, codebookSize: 256 });
    expect(readdirSync(cache, { recursive: true })).toHaveLength(before);
  });

  it.each(["int8", "int4"] as const)("in %s makes nearly the same pictures", async (weights) => {
    await using image = await ImagePipeline.load(janusFixture("tiny"), { cache, weights });
    const { tokens, images } = await image.generate(PROMPT, { temperature: 0 });
    expect(tokens[0]).toHaveLength(16);
    expect(tokens[0]!.slice(0, 4)).toEqual(golden.t2i.greedy_tokens.slice(0, 4));
    expect(images[0]!.data).toEqual((await image.tokensToImage(tokens[0]!)).data);
    // Other tokens differ by 44 in the mean.
    const { data } = goldenBytes("t2i_pixels_uint8");
    const decoded = (await image.tokensToImage(golden.t2i.greedy_tokens)).data;
    const distance = decoded.reduce((sum, value, at) => sum + Math.abs(value - data[at]!), 0) / data.length;
    expect(distance).toBeLessThan(1);
  });
});
