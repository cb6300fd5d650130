import { expectTypeOf, test } from "vitest";
import type {
  Explanation,
  FinishReason,
  ImageInfo,
  ImageLoadOptions,
  ImageOptions,
  ImageResult,
  ImageStep,
  PipelineStream,
  RgbImage,
  WeightsOption,
} from "./index.js";
import { ImagePipeline } from "./index.js";

declare const image: ImagePipeline;

test("calls and their results", () => {
  expectTypeOf(
    ImagePipeline.load("model", { weights: "int4", groupSize: 32, kvCache: { tokens: 4096 } }),
  ).resolves.toEqualTypeOf<ImagePipeline>();
  expectTypeOf(image.generate("a cat", { n: 2, seed: 7 })).resolves.toEqualTypeOf<ImageResult>();
  expectTypeOf(image.stream("a cat", { previewEvery: 96 })).toEqualTypeOf<PipelineStream<ImageStep, ImageResult>>();
  expectTypeOf(image.tokensToImage(new Int32Array(576))).resolves.toEqualTypeOf<RgbImage>();
  expectTypeOf(image.explain()).toEqualTypeOf<Explanation>();
  expectTypeOf(image.explain({ prompt: "a cat" })).toEqualTypeOf<Promise<Explanation>>();
  expectTypeOf(image.info).toEqualTypeOf<ImageInfo>();
});

test("results", () => {
  expectTypeOf<ImageResult["images"]>().toEqualTypeOf<RgbImage[]>();
  expectTypeOf<ImageResult["tokens"]>().toEqualTypeOf<number[][]>();
  expectTypeOf<ImageResult["seeds"]>().toEqualTypeOf<number[]>();
  expectTypeOf<ImageResult["finishReason"]>().toEqualTypeOf<FinishReason>();
  expectTypeOf<ImageResult["complete"]>().toBeBoolean();
  expectTypeOf<ImageStep["previews"]>().toEqualTypeOf<RgbImage[] | undefined>();
});

test("options", () => {
  expectTypeOf<{ width: 384; height: 384; guidance: 1 }>().toExtend<ImageOptions>();
  // @ts-expect-error previews are for streams
  void image.generate("a cat", { previewEvery: 96 });
  expectTypeOf<ImageLoadOptions["weights"]>().toEqualTypeOf<WeightsOption | undefined>();
  void ImagePipeline.load("model", { weights: "file" });
  // @ts-expect-error a prompt is one text
  void image.generate(["a cat", "a dog"]);
  // @ts-expect-error pipelines are loaded
  new ImagePipeline();
});
