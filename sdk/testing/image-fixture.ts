import { setNativeForTesting } from "../core/native.js";
import type { NativeRequest } from "../core/native-types.js";
import type { ImageLoadOptions } from "../image/image-options.js";
import { ImagePipeline } from "../image/image-pipeline.js";
import type { RgbImage } from "../media/rgb-image.js";
import type { FakeGraphScript } from "./fake-graph.js";
import { FakeNative, type FakeAnswer, type FakeNativeOptions } from "./fake-native.js";
import { janusFixture } from "./janus-fixture.js";

/** Sizes of the tiny Janus model. */
export const TINY_JANUS = { imageTokens: 16, gridSize: 4, imageSize: 32, codebookSize: 256, guidance: 5 } as const;

const CELL = TINY_JANUS.imageSize / TINY_JANUS.gridSize;

/** An image pipeline over a scripted addon. */
export interface FakeImages {
  image: ImagePipeline;
  native: FakeNative;
}

/** Tokens of the picture that the scripted model makes with a seed. */
export function tokensOfSeed(seed: number): number[] {
  return Array.from({ length: TINY_JANUS.imageTokens }, (_, index) => (seed * 40 + index * 3 + 1) % 256);
}

/** A picture decoder that paints each token as a square: red is the token itself, green half of it, blue 255. */
export const paintTokens: FakeGraphScript = ([codes]) => {
  const { imageSize, gridSize } = TINY_JANUS;
  const plane = imageSize * imageSize;
  const data = new Float32Array(3 * plane);
  for (let y = 0; y < imageSize; y++) {
    for (let x = 0; x < imageSize; x++) {
      const code = codes!.data[Math.floor(y / CELL) * gridSize + Math.floor(x / CELL)]!;
      const at = y * imageSize + x;
      // A little more than the whole number, which is what dropping the fraction then gives.
      data[at] = ((code + 0.3) / 255) * 2 - 1;
      data[plane + at] = ((Math.floor(code / 2) + 0.3) / 255) * 2 - 1;
      data[2 * plane + at] = 1.5;
    }
  }
  return [{ shape: [1, 3, imageSize, imageSize], data }];
};

/** The tokens that a picture painted by {@link paintTokens} shows. */
export function tokensShown({ data, width }: RgbImage): number[] {
  return Array.from({ length: TINY_JANUS.imageTokens }, (_, index) => {
    const y = Math.floor(index / TINY_JANUS.gridSize) * CELL;
    const x = (index % TINY_JANUS.gridSize) * CELL;
    return data[(y * width + x) * 3]!;
  });
}

/** Loads the tiny model over a scripted addon. */
export async function loadFakeImages(
  answers: (request: NativeRequest) => FakeAnswer = ({ sampling }) => ({ ids: tokensOfSeed(sampling.seed) }),
  options: ImageLoadOptions = {},
  native: Omit<FakeNativeOptions, "answers"> & { model?: string } = {},
): Promise<FakeImages> {
  const { model = janusFixture("tiny-ir"), ...rest } = native;
  const fake = new FakeNative({
    graphs: { openvino_gen_decoder_model: paintTokens },
    ...rest,
    info: { vocabSize: TINY_JANUS.codebookSize, hiddenSize: 48, ...rest.info },
    answers,
  });
  setNativeForTesting(fake);
  return { image: await ImagePipeline.load(model, { cache: false, ...options }), native: fake };
}
