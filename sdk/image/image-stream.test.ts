import { afterEach, describe, expect, it } from "vitest";
import { NativeError } from "../core/errors.js";
import { setNativeForTesting } from "../core/native.js";
import { loadFakeImages, tokensOfSeed, tokensShown } from "../testing/image-fixture.js";
import type { ImageStep } from "./image-result.js";

const PROMPT = "A red cube on a blue table.";
const DECODER = "openvino_gen_decoder_model";

afterEach(() => setNativeForTesting(undefined));

async function read(stream: AsyncIterable<ImageStep>): Promise<ImageStep[]> {
  const steps: ImageStep[] = [];
  for await (const step of stream) steps.push(step);
  return steps;
}

describe("a stream", () => {
  it("tells every token once and gives the result of generate()", async () => {
    const { image } = await loadFakeImages();
    const stream = image.stream(PROMPT, { n: 2, seed: 8 });
    const steps = await read(stream);
    expect(steps).toEqual(Array.from({ length: 16 }, (_, index) => ({ token: index + 1, of: 16 })));
    const [result, expected] = [await stream.result, await image.generate(PROMPT, { n: 2, seed: 8 })];
    expect({ ...result, metrics: undefined }).toEqual({ ...expected, metrics: undefined });
  });

  it("shows what is there: codes not made are the ones above, the last step has the finished pictures", async () => {
    const { image } = await loadFakeImages();
    const stream = image.stream(PROMPT, { n: 2, seed: 8, previewEvery: 6 });
    const steps = await read(stream);
    expect(steps.map(({ token }) => token)).toEqual(Array.from({ length: 16 }, (_, index) => index + 1));
    const shown = steps.filter(({ previews }) => previews);
    expect(shown.map(({ token, previewToken }) => [token, previewToken])).toEqual([
      [6, 6],
      [12, 12],
      [16, 16],
    ]);
    const whole = tokensOfSeed(9);
    const partial = [
      ...whole.slice(0, 6),
      whole[2],
      whole[3],
      ...[4, 5, 2, 3, 4, 5, 2, 3].map((index) => whole[index]),
    ];
    expect(tokensShown(shown[0]!.previews![1]!)).toEqual(partial);
    expect(shown[2]!.previews).toEqual((await stream.result).images);
  });

  it("break keeps what there is and fills it up", async () => {
    const { image, native } = await loadFakeImages();
    const stream = image.stream(PROMPT, { seed: 2 });
    for await (const { token } of stream) if (token === 5) break;
    const { tokens, images, finishReason, complete, seeds } = await stream.result;
    const whole = tokensOfSeed(2);
    expect(tokens[0]!.length).toBeGreaterThanOrEqual(5);
    expect(tokens[0]).toEqual(whole.slice(0, tokens[0]!.length));
    expect(tokens[0]!.length).toBeLessThan(16);
    expect([finishReason, complete]).toEqual(["stop", false]);
    expect(seeds).toEqual([2]);
    expect(tokensShown(images[0]!).slice(0, 5)).toEqual(whole.slice(0, 5));
    expect(tokensShown(images[0]!)[15]).toBe(tokensShown(images[0]!)[11]);
    expect(native.generator.runningCount).toBe(0);
    expect((await image.generate(PROMPT, { seed: 2 })).complete).toBe(true);
  });

  it("stop() before the first token gives a grey picture", async () => {
    const { image, native } = await loadFakeImages();
    native.generator.hold();
    const stream = image.stream(PROMPT, { n: 2 });
    await stream.stop();
    const { images, tokens, finishReason, complete } = await stream.result;
    expect([tokens, finishReason, complete]).toEqual([[[], []], "stop", false]);
    expect(images.map(({ data }) => new Set(data))).toEqual([new Set([127]), new Set([127])]);
  });

  it("stop() while the finished picture is decoded changes nothing", async () => {
    const { image, native } = await loadFakeImages();
    native.graph(DECODER).hold();
    const stream = image.stream(PROMPT, { seed: 6 });
    while (native.graph(DECODER).waitingCount === 0) await new Promise((resolve) => setImmediate(resolve));
    const stopped = stream.stop();
    native.graph(DECODER).release();
    await stopped;
    expect(await stream.result).toMatchObject({ finishReason: "stop", complete: true, tokens: [tokensOfSeed(6)] });
  });

  it("cancel() decodes nothing", async () => {
    const { image, native } = await loadFakeImages();
    const stream = image.stream(PROMPT, { previewEvery: 1 });
    const steps: ImageStep[] = [];
    for await (const step of stream) {
      steps.push(step);
      if (step.token === 3) void stream.cancel();
    }
    const { images, finishReason, tokens } = await stream.result;
    expect([images, finishReason]).toEqual([[], "cancelled"]);
    expect(tokens[0]!.length).toBeLessThan(16);
    expect(native.graph(DECODER).waitingCount).toBe(0);
  });

  it("cancel() before the first token gives no picture", async () => {
    const { image, native } = await loadFakeImages();
    native.generator.hold();
    for (const begun of [false, true]) {
      const stream = image.stream(PROMPT, { n: 2 });
      while (begun && native.generator.runningCount < 2) await new Promise((resolve) => setImmediate(resolve));
      await stream.cancel();
      expect(await stream.result).toMatchObject({
        images: [],
        tokens: [[], []],
        finishReason: "cancelled",
        complete: false,
      });
    }
  });

  it("an aborted signal rejects with its reason, at every stage", async () => {
    const { image, native } = await loadFakeImages();
    const reason = new Error("enough");
    await expect(image.generate(PROMPT, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);

    native.generator.hold();
    const during = new AbortController();
    const generating = image.generate(PROMPT, { n: 2, signal: during.signal });
    while (native.generator.runningCount < 2) await new Promise((resolve) => setImmediate(resolve));
    during.abort(reason);
    await expect(generating).rejects.toBe(reason);
    expect(native.generator.runningCount).toBe(0);
    native.generator.release();

    native.graph(DECODER).hold();
    const late = new AbortController();
    const decoding = image.generate(PROMPT, { signal: late.signal });
    while (native.graph(DECODER).waitingCount === 0) await new Promise((resolve) => setImmediate(resolve));
    late.abort(reason);
    await expect(decoding).rejects.toBe(reason);
    expect(native.graph(DECODER).waitingCount).toBe(0);
    native.graph(DECODER).release();
    expect((await image.generate(PROMPT)).complete).toBe(true);
  });

  it("a failing preview ends the call with its error", async () => {
    const { image, native } = await loadFakeImages(
      undefined,
      {},
      {
        graphs: { [DECODER]: () => [{ shape: [1, 3, 8, 8], data: new Float32Array(192) }] },
      },
    );
    const stream = image.stream(PROMPT, { previewEvery: 2 });
    await expect(read(stream)).rejects.toThrow(/shape \[1, 3, 8, 8\] where \[1, 3, 32, 32\] was expected/);
    await expect(stream.result).rejects.toBeInstanceOf(NativeError);
    expect(native.generator.runningCount).toBe(0);
  });
});
