import { join } from "node:path";
import { ModelError } from "../../core/errors.js";
import { normalizeImage, padImage, resizeImage, type ResizeFilter } from "../../media/image-pixels.js";
import type { RgbImage } from "../../media/rgb-image.js";
import { janusFacts } from "../../models/janus-facts.js";
import type { ImageLayout, OpenedFamily, VisionFamily } from "./family.js";
import { ImageSettings } from "./image-settings.js";

const ENCODER = "openvino_vision_embeddings_model";

/**
 * Janus and Janus-Pro, the part that reads pictures: a SigLIP tower with its aligner in one graph. Pictures are enlarged or shrunk
 * to 384 pixels on the longer side and padded with grey to a square, as `JanusImageProcessor` of transformers does.
 */
export const janus: VisionFamily = {
  name: "Janus",
  modelTypes: ["janus"],
  graphs: [ENCODER],
  needs: ["openvino_lm_head_model"],
  open(source, tokenizer): OpenedFamily {
    const facts = janusFacts(source);
    const { beginOfImage, imagePlaceholder, endOfImage } = facts.tokens;
    const id = tokenizer.idOf(imagePlaceholder);
    if (id === undefined) {
      const file = join(source.folder, "tokenizer.json");
      throw new ModelError(`${file} has no token ${imagePlaceholder}. Tokenizer and model do not belong together.`, {
        file,
      });
    }
    const settings = new ImageSettings(source);
    const mean = settings.channels("image_mean", [0.5, 0.5, 0.5]);
    const preparation = {
      side: facts.imageSize,
      minSize: settings.number("min_size", 14),
      filter: settings.filter("bicubic"),
      background: settings.channels(
        "background_color",
        mean.map((value) => Math.trunc(value * 255)),
      ),
      mean,
      std: settings.deviations("image_std", [0.5, 0.5, 0.5]),
      rescale: settings.number("rescale_factor", 1 / 255),
    };
    const layout: ImageLayout = { text: () => beginOfImage + imagePlaceholder + endOfImage, runs: [facts.imageTokens] };
    return {
      placeholder: imagePlaceholder,
      imageToken: { text: imagePlaceholder, id },
      spellings: [beginOfImage, endOfImage],
      chatTemplate: facts.chatTemplate,
      alwaysBos: true,
      key: JSON.stringify(preparation),
      // A conversation's own system message takes the place of the default text: it stands where the chat template puts it.
      prefix: (messages) => {
        const hasOwn = messages.some(({ role }) => role === "system");
        return facts.useDefaultSystemPrompt && !hasOwn ? facts.systemPrompt : "";
      },
      prepare: async (image) => {
        const squared = await squareImage(image, preparation);
        const data = normalizeImage(squared, preparation.mean, preparation.std, preparation.rescale);
        return { layout, tensors: [{ shape: [1, 3, squared.height, squared.width], data }] };
      },
      encode: async ({ tensors: [pixels] }, graphs) => {
        // Exports by the OpenVINO notebook have one more dimension, for several pictures of one prompt.
        const shape = graphs.inputShape(ENCODER, 0).length === 5 ? [1, ...pixels!.shape] : pixels!.shape;
        const [features] = await graphs.run(ENCODER, [{ ...pixels!, shape }]);
        return { rows: features!.data as Float32Array };
      },
    };
  },
};

interface Square {
  side: number;
  minSize: number;
  filter: ResizeFilter;
  background: readonly number[];
}

async function squareImage(image: RgbImage, { side, minSize, filter, background }: Square): Promise<RgbImage> {
  const scale = side / Math.max(image.width, image.height);
  const target = (length: number): number => Math.min(side, Math.max(roundHalfToEven(length * scale), minSize));
  const [width, height] = [target(image.width), target(image.height)];
  const resized = await resizeImage(image, width, height, filter);
  const [left, top] = [Math.floor((side - width) / 2), Math.floor((side - height) / 2)];
  return padImage(resized, side, side, left, top, background as [number, number, number]);
}

/** Python's `round`. */
function roundHalfToEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}
