import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { setNativeForTesting } from "../../core/native.js";
import { RgbImage } from "../../media/rgb-image.js";
import { resolveVisionModel, type VisionModelSource } from "../../models/vision-model.js";
import { FakeNative } from "../../testing/fake-native.js";
import { grey, meanOf, TINY_VLM } from "../../testing/vlm-fixture.js";
import { Tokenizer } from "../../text/tokenizer.js";
import { llava } from "./llava.js";

let source: VisionModelSource;
let tokenizer: Tokenizer;
let native: FakeNative;
beforeAll(async () => {
  source = await resolveVisionModel(TINY_VLM, { cacheFolder: "" });
  tokenizer = await Tokenizer.fromFolder(TINY_VLM);
});
beforeEach(() => setNativeForTesting((native = new FakeNative())));
afterEach(() => setNativeForTesting(undefined));

type Changes = Partial<Record<"config" | "preprocessorConfig" | "processorConfig", Record<string, unknown>>>;

function open(changes: Changes) {
  const { config, preprocessorConfig, processorConfig } = source;
  return llava.open(
    {
      ...source,
      config: { ...config, ...changes.config },
      preprocessorConfig: { ...preprocessorConfig, ...changes.preprocessorConfig },
      processorConfig: { ...processorConfig, ...changes.processorConfig },
    },
    tokenizer,
  );
}

async function prepared(changes: Changes, image = grey(100)) {
  const { layout, tensors } = await open(changes).prepare(image);
  const { shape, data } = tensors[0]! as { shape: number[]; data: Float32Array };
  return { shape, data, tokens: layout.runs, mean: data.reduce((sum, value) => sum + value, 0) / data.length };
}

describe("LLaVA's preparation of pictures", () => {
  it("takes the shortest edge, then the middle", async () => {
    const { shape } = await prepared({}, grey(100, 100));
    expect(shape).toEqual([1, 3, 56, 56]);
    await open({}).prepare(wide(200, 100));
    await open({}).prepare(wide(99, 201));
    expect(native.resizes.map(({ target }) => target)).toEqual([
      { width: 56, height: 56 },
      { width: 112, height: 56 },
      { width: 56, height: 113 },
    ]);
    expect(native.resizes[0]!.filter).toBe("bicubic");
  });

  it("makes a square of any picture where the files say so", async () => {
    const preprocessorConfig = { size: { height: 56, width: 56 }, do_center_crop: false, resample: 2 };
    const { shape } = await prepared({ preprocessorConfig }, wide(200, 100));
    expect(shape).toEqual([1, 3, 56, 56]);
    expect(native.resizes).toEqual([
      { size: { width: 200, height: 100 }, target: { width: 56, height: 56 }, filter: "bilinear" },
    ]);
  });

  it("obeys the flags", async () => {
    expect((await prepared({})).mean).toBeCloseTo(meanOf(100), 4);
    expect((await prepared({ preprocessorConfig: { do_normalize: false } })).mean).toBeCloseTo(100 / 255, 5);
    const raw = { do_normalize: false, do_rescale: false };
    expect((await prepared({ preprocessorConfig: raw })).mean).toBeCloseTo(100, 3);
    await prepared({ preprocessorConfig: { do_resize: false } }, grey(1, 100));
    expect(native.resizes).toEqual([]);
    // Padded to a square of the mean's colour, so that nothing of the picture is cut off.
    const padded = await prepared({ preprocessorConfig: { ...raw, do_pad: true } }, wide(112, 56));
    expect(native.resizes.at(-1)!.size).toEqual({ width: 112, height: 112 });
    expect(padded.data[0]).toBe(Math.trunc(0.48145466 * 255));
  });

  it("finds its settings in one file with the processor's, as transformers 5 writes them", async () => {
    const image_processor = { ...source.preprocessorConfig, crop_size: 28, size: 28 };
    const { shape } = await prepared({ processorConfig: { image_processor }, preprocessorConfig: { crop_size: 14 } });
    expect(shape).toEqual([1, 3, 28, 28]);
  });
});

describe("LLaVA's tokens of a picture", () => {
  it.each([
    ["patches, without the class token", {}, 16],
    ["with it", { processorConfig: { vision_feature_select_strategy: "full" } }, 17],
    [
      "of an encoder without one",
      { processorConfig: { num_additional_image_tokens: 0, vision_feature_select_strategy: "full" } },
      16,
    ],
    [
      "of SigLIP in older files",
      {
        config: { vision_config: { model_type: "siglip_vision_model", patch_size: 14 } },
        processorConfig: { num_additional_image_tokens: undefined, vision_feature_select_strategy: "full" },
      },
      16,
    ],
    ["with smaller patches", { processorConfig: { patch_size: 7 } }, 64],
    ["by the model's own patch size", { processorConfig: { patch_size: undefined } }, 16],
  ])("%s", async (_, changes: Changes, tokens) => {
    expect((await prepared(changes)).tokens).toEqual([tokens]);
  });

  it("has a key that follows the preparation", () => {
    const keys = [{}, { image_mean: [0, 0, 0] }, { resample: 2 }, { do_pad: true }].map(
      (preprocessorConfig) => open({ preprocessorConfig }).key,
    );
    expect(new Set(keys).size).toBe(keys.length);
    expect(open({}).key).toBe(keys[0]);
  });

  it("refuses pictures of many sizes, which the encoder cannot take", () => {
    expect(() => open({ preprocessorConfig: { do_center_crop: false } })).toThrow(/not brought to one size/);
    expect(() => open({ config: { vision_config: {} }, processorConfig: { patch_size: undefined } })).toThrow(
      /patch size/,
    );
  });
});

function wide(width: number, height: number): RgbImage {
  return new RgbImage(width, height, new Uint8Array(width * height * 3).fill(100));
}
