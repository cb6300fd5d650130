import { afterEach, describe, expect, it } from "vitest";
import { ContextLengthError, DisposedError, OptionError } from "../core/errors.js";
import { setNativeForTesting } from "../core/native.js";
import { loadFakeImages, paintTokens, TINY_JANUS, tokensOfSeed, tokensShown } from "../testing/image-fixture.js";
import { janusGoldens } from "../testing/janus-fixture.js";
import { ImagePipeline } from "./image-pipeline.js";

interface T2iGolden {
  t2i: { cond_ids: number[]; uncond_ids: number[] };
}

const golden = (janusGoldens() as unknown as T2iGolden).t2i;
const PROMPT = "A red cube on a blue table.";
const DECODER = "openvino_gen_decoder_model";

afterEach(() => setNativeForTesting(undefined));

describe("a request", () => {
  it("has the reference's prompt and unconditional row, the authors' sampling, and a whole picture of tokens", async () => {
    const { image, native } = await loadFakeImages();
    await image.generate(PROMPT, { seed: 3 });
    const [request] = native.generator.requests;
    expect([...request!.promptIds]).toEqual(golden.cond_ids);
    expect([...request!.guidance!.promptIds]).toEqual(golden.uncond_ids);
    expect(request).toMatchObject({
      guidance: { scale: 5 },
      maxNewTokens: 16,
      minNewTokens: 0,
      stopTokenIds: [],
      sampling: { temperature: 1, topK: 0, topP: 1, minP: 0, repetitionPenalty: 1, seed: 3, logprobs: -1 },
    });
  });

  it("passes the options on; guidance 1 costs no second row", async () => {
    const { image, native } = await loadFakeImages();
    await image.generate(PROMPT, { guidance: 1, temperature: 0, topK: 50, topP: 0.5 });
    await image.generate(PROMPT, { guidance: 2.5 });
    expect(native.generator.requests[0]!.guidance).toBeUndefined();
    expect(native.generator.requests[0]!.sampling).toMatchObject({ temperature: 0, topK: 50, topP: 0.5 });
    expect(native.generator.requests[1]!.guidance).toMatchObject({ scale: 2.5 });
  });

  it("takes control tokens that the prompt spells as text", async () => {
    const { image, native } = await loadFakeImages();
    const spelled = "<begin_of_image> <｜begin▁of▁sentence｜><｜▁pad▁｜><|Assistant|>: <image_placeholder>";
    await image.generate(spelled);
    const ids = [...native.generator.requests[0]!.promptIds];
    const [bos, beginOfImage] = [golden.cond_ids[0]!, golden.cond_ids.at(-1)!];
    expect(ids.filter((id) => id === bos)).toHaveLength(1);
    expect(ids.filter((id) => id === beginOfImage)).toHaveLength(1);
    expect(ids.at(-1)).toBe(beginOfImage);
    expect(ids.length).toBeGreaterThan(60);
  });

  it("may be empty or full of emoji", async () => {
    const { image, native } = await loadFakeImages();
    await image.generate("");
    await image.generate("🚲🌈 \u{1F468}\u200D\u{1F469}\u200D\u{1F467} \uD800");
    const lengths = native.generator.requests.map(({ promptIds }) => promptIds.length);
    expect(lengths[1]).toBeGreaterThan(lengths[0]!);
    for (const { promptIds, guidance } of native.generator.requests) {
      expect(guidance!.promptIds).toHaveLength(promptIds.length);
    }
  });
});

describe("a result", () => {
  it("has one entry for each picture; picture i has the seed + i whatever n is", async () => {
    const { image } = await loadFakeImages();
    const three = await image.generate(PROMPT, { n: 3, seed: 4 });
    expect(three.seeds).toEqual([4, 5, 6]);
    expect(three.tokens).toEqual([4, 5, 6].map(tokensOfSeed));
    expect(three.images.map(tokensShown)).toEqual(three.tokens);
    expect([three.finishReason, three.complete]).toEqual(["stop", true]);
    const one = await image.generate(PROMPT, { seed: 5 });
    expect(one.tokens[0]).toEqual(three.tokens[1]);
    expect(one.images[0]!.data).toEqual(three.images[1]!.data);
  });

  it("tells a seed that was drawn; highest seeds wrap around", async () => {
    const { image } = await loadFakeImages();
    const drawn = [await image.generate(PROMPT), await image.generate(PROMPT)].map(({ seeds }) => seeds[0]!);
    expect(drawn[0]).not.toBe(drawn[1]);
    const { seeds } = await image.generate(PROMPT, { n: 3, seed: Number.MAX_SAFE_INTEGER - 1 });
    expect(seeds).toEqual([Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER, 0]);
  });

  it("has pixels in RGB order, cut to bytes, fractions dropped", async () => {
    const { image } = await loadFakeImages();
    const { images, tokens } = await image.generate(PROMPT, { seed: 1 });
    const [token] = tokens[0]!;
    expect(images[0]).toMatchObject({ width: 32, height: 32 });
    expect([...images[0]!.data.subarray(0, 3)]).toEqual([token, Math.floor(token! / 2), 255]);
  });

  it("has times of every stage", async () => {
    const { image } = await loadFakeImages();
    const { metrics } = await image.generate(PROMPT, { n: 2 });
    expect(metrics.stages).toMatchObject({ prefill: 10, decode: 30, encode: 0 });
    expect(metrics.stages.pictures).toBeGreaterThan(0);
    expect(metrics.stages.tokenize).toBeGreaterThan(0);
    expect(metrics.tpotMs).toBe(2);
    expect(metrics.tokensPerSecond).toBe(1000);
    expect(metrics.ttftMs).toBeGreaterThan(11);
  });
});

describe("several calls", () => {
  it("run at once", async () => {
    const { image, native } = await loadFakeImages();
    native.generator.hold();
    const calls = [1, 2, 3].map((seed) => image.generate(`${PROMPT} ${seed}`, { seed }));
    while (native.generator.runningCount < 3) await new Promise((resolve) => setImmediate(resolve));
    native.generator.release();
    const results = await Promise.all(calls);
    expect(results.map(({ tokens }) => tokens[0])).toEqual([1, 2, 3].map(tokensOfSeed));
  });

  it("dispose() ends them, and refuses later ones", async () => {
    const { image, native } = await loadFakeImages();
    native.generator.hold();
    const running = image.generate(PROMPT);
    const disposed = image.dispose();
    await expect(running).rejects.toBeInstanceOf(DisposedError);
    await disposed;
    expect(native.generator.closed && native.graph(DECODER).closed).toBe(true);
    await expect(image.generate(PROMPT)).rejects.toThrow(/Cannot generate: this ImagePipeline was disposed/);
    await image[Symbol.asyncDispose]();
  });
});

describe("trouble", () => {
  it.each([
    [{ width: 512 }, "width", /width must be 32, the only size this model makes \(32 × 32 pixels\); received 512/],
    [{ height: 0 }, "height", /height must be 32/],
    [{ width: 31 }, "width", /received 31/],
    [{ width: Number.NaN }, "width", /a number of pixels/],
    [{ n: 0 }, "n", /a whole number from 1 to 64/],
    [{ n: 1.5 }, "n", /a whole number from 1 to 64/],
    [{ guidance: -1 }, "guidance", /a number from 0 to 100, received -1/],
    [{ guidance: Number.NaN }, "guidance", /a number from 0 to 100/],
    [{ guidance: 1e6 }, "guidance", /a number from 0 to 100/],
    [{ guidance: Infinity }, "guidance", /a number from 0 to 100/],
    [{ temperature: -0.1 }, "temperature", /a number from 0 to 2/],
    [{ topP: 0 }, "topP", /a number above 0/],
    [{ topK: -1 }, "topK", /a whole number of at least 0/],
    [{ seed: -1 }, "seed", /a whole number of at least 0/],
    [{ seed: null }, "seed", /received null/],
    [{ guidanceScale: 3 }, "guidanceScale", /Did you mean "guidance"\?/],
    [{ numImages: 3 }, "numImages", /Did you mean "n"\?/],
  ])("%j is an OptionError", async (options, path, message) => {
    const { image, native } = await loadFakeImages();
    const failure = await image.generate(PROMPT, options as object).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(OptionError);
    expect(failure).toMatchObject({ path, message: expect.stringMatching(message) as string });
    expect(native.generator.requests).toHaveLength(0);
    expect(() => image.stream(PROMPT, options as object)).toThrow(OptionError);
  });

  it.each([[undefined], [42], [null], [["a", "b"]], [{ text: "x" }]])(
    "a prompt of %j is an OptionError",
    async (prompt) => {
      const { image } = await loadFakeImages();
      await expect(image.generate(prompt as unknown as string)).rejects.toMatchObject({
        code: "option",
        path: "prompt",
      });
    },
  );

  it("a prompt that leaves no room for a picture is told with both numbers", async () => {
    const { image } = await loadFakeImages(undefined, { kvCache: { tokens: 200 } });
    const long = await image.generate("word ".repeat(5000)).catch((error: unknown) => error);
    expect(long).toBeInstanceOf(ContextLengthError);
    // Two rows share the cache.
    expect(long).toMatchObject({ limit: 100, message: expect.stringMatching(/for two rows with guidance/) as string });
    expect((long as ContextLengthError).requested).toBeGreaterThan(5000);
    expect((await image.generate(PROMPT)).complete).toBe(true);
  });

  it("values that are no numbers give no picture but an error; the pipeline goes on", async () => {
    let broken = Number.NaN;
    const { image } = await loadFakeImages(
      undefined,
      {},
      {
        graphs: {
          [DECODER]: (inputs, options) => {
            const [pixels] = paintTokens(inputs, options);
            if (!Number.isFinite(broken)) pixels!.data[700] = broken;
            return [pixels!];
          },
        },
      },
    );
    for (broken of [Number.NaN, Infinity]) {
      await expect(image.generate(PROMPT)).rejects.toThrow(/no numbers \((NaN|Infinity)\).*INFERENCE_PRECISION_HINT/);
    }
    broken = 0;
    expect((await image.generate(PROMPT)).images).toHaveLength(1);
  });

  it("when one picture fails the others are ended and the error is told", async () => {
    const { image, native } = await loadFakeImages(({ sampling }) => ({
      ids: tokensOfSeed(sampling.seed),
      ...(sampling.seed === 2 && { error: { code: "native", message: "the engine broke", afterTokens: 4 } }),
    }));
    await expect(image.generate(PROMPT, { n: 3, seed: 1 })).rejects.toThrow("the engine broke");
    expect(native.generator.runningCount).toBe(0);
    expect(native.graph(DECODER).inferences).toHaveLength(0);
    expect((await image.generate(PROMPT, { seed: 7 })).tokens[0]).toEqual(tokensOfSeed(7));
  });

  it("a picture that the engine ends early is no picture", async () => {
    const { image } = await loadFakeImages(() => ({ ids: [1, 2, 3] }));
    await expect(image.generate(PROMPT)).rejects.toThrow(/ended picture 0 after 3 of 16 tokens/);
  });
});

describe("tokensToImage", () => {
  it("decodes the tokens of a result to the same pixels", async () => {
    const { image } = await loadFakeImages();
    const { tokens, images } = await image.generate(PROMPT, { seed: 12 });
    expect((await image.tokensToImage(tokens[0]!)).data).toEqual(images[0]!.data);
    expect((await image.tokensToImage(Int32Array.from(tokens[0]!))).data).toEqual(images[0]!.data);
  });

  it.each([
    [[1, 2, 3], "tokens", /an array of 16 token ids.*received 3 entries/],
    ["1 2 3", "tokens", /an array of 16 token ids/],
    [undefined, "tokens", /received undefined/],
    [[...Array<number>(15).fill(0), 256], "tokens[15]", /a whole number from 0 to 255, received 256/],
    [[0.5, ...Array<number>(15).fill(0)], "tokens[0]", /received 0.5/],
    [[...Array<number>(3).fill(0), "7", ...Array<number>(12).fill(0)], "tokens[3]", /received "7"/],
  ])("refuses %j", async (tokens, path, message) => {
    const { image } = await loadFakeImages();
    const failure = await image.tokensToImage(tokens as number[]).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "option", path, message: expect.stringMatching(message) as string });
  });

  it("can be aborted", async () => {
    const { image, native } = await loadFakeImages();
    native.graph(DECODER).hold();
    const ends = new AbortController();
    const decoding = image.tokensToImage(tokensOfSeed(1), { signal: ends.signal });
    while (native.graph(DECODER).waitingCount === 0) await new Promise((resolve) => setImmediate(resolve));
    ends.abort(new Error("no"));
    await expect(decoding).rejects.toThrow("no");
    expect(native.graph(DECODER).waitingCount).toBe(0);
  });
});

describe("info and explain", () => {
  it("tell what the model is", async () => {
    const { image } = await loadFakeImages();
    const { imageSize, imageTokens, codebookSize, guidance } = TINY_JANUS;
    expect(image.info).toMatchObject({
      ...{ imageSize, imageTokens, codebookSize, guidance },
      architecture: "janus",
      contextLength: 16_384,
      format: "openvino",
      device: "CPU",
    });
  });

  it("name the source of each value and the prompt", async () => {
    const { image } = await loadFakeImages();
    const { options, load, notes, prompt } = await image.explain({ temperature: 0, topK: 5, prompt: PROMPT });
    expect(options).toMatchObject({
      temperature: { value: 0, source: "call" },
      guidance: { value: 5, source: "default" },
      width: { value: 32, source: "model" },
      seed: { value: "drawn at random for each call", source: "default" },
    });
    expect(load).toMatchObject({ weights: { value: "as the model's files have them" }, device: { value: "CPU" } });
    expect(notes).toContain("topK: no effect, the likeliest token is taken (temperature 0).");
    expect(prompt).toEqual({
      text: `<｜begin▁of▁sentence｜><|User|>: ${PROMPT}\n\n<|Assistant|>:<begin_of_image>`,
      tokens: golden.cond_ids.length,
    });
    expect(image.explain().notes).toEqual([]);
  });

  it("has no public constructor", () => {
    expect(() => new (ImagePipeline as unknown as new () => unknown)()).toThrow(/ImagePipeline.load/);
  });
});
