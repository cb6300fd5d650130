import { join } from "node:path";
import { ModelError } from "../../core/errors.js";
import { cropImage, normalizeImage, padImage, resizeImage, type ResizeFilter } from "../../media/image-pixels.js";
import type { RgbImage } from "../../media/rgb-image.js";
import type { VisionModelSource } from "../../models/vision-model.js";
import type { Tokenizer } from "../../text/tokenizer.js";
import type { ImageLayout, OpenedFamily, VisionFamily } from "./family.js";
import { ImageSettings } from "./image-settings.js";

const ENCODER = "openvino_vision_embeddings_model";
const CLIP_MEAN = [0.48145466, 0.4578275, 0.40821073];
const CLIP_STD = [0.26862954, 0.26130258, 0.27577711];
const IMAGE_TOKEN = "<image>";

/**
 * LLaVA 1.5 as optimum-intel exports it: a CLIP (or SigLIP) encoder with its projector in one graph, a row for each patch.
 * Pictures are prepared as `CLIPImageProcessor` of transformers does, or as the folder's files say otherwise.
 */
export const llava: VisionFamily = {
  name: "LLaVA 1.5",
  modelTypes: ["llava"],
  graphs: [ENCODER],
  open(source, tokenizer): OpenedFamily {
    const preparation = readPreparation(new ImageSettings(source));
    const imageToken = readImageToken(source, tokenizer);
    const tokens = readTokenCount(source, preparation);
    // The same for all pictures, since all are brought to one size.
    const layout: ImageLayout = { text: () => imageToken.text, runs: [tokens] };
    return {
      placeholder: imageToken.text,
      imageToken,
      key: JSON.stringify(preparation),
      prepare: async (image) => {
        const shaped = await shapeImage(image, preparation);
        const data = normalizeImage(shaped, preparation.mean, preparation.std, preparation.rescale);
        return { layout, tensors: [{ shape: [1, 3, shaped.height, shaped.width], data }] };
      },
      encode: async ({ tensors }, graphs) => {
        const [features] = await graphs.run(ENCODER, tensors);
        return { rows: features!.data as Float32Array };
      },
    };
  },
};

type Size = { shortestEdge: number } | { height: number; width: number };

/** What happens to a picture, in this order. */
interface Preparation {
  /** Make it a square first, with this colour around. */
  pad: readonly [number, number, number] | undefined;
  resize: Size | undefined;
  filter: ResizeFilter;
  crop: { height: number; width: number } | undefined;
  mean: readonly number[];
  std: readonly number[];
  rescale: number;
}

function readPreparation(settings: ImageSettings): Preparation {
  const rawMean = settings.channels("image_mean", CLIP_MEAN);
  const normalize = settings.flag("do_normalize", true);
  const crop = settings.flag("do_center_crop", true) ? settings.size("crop_size") : undefined;
  const [red, green, blue] = rawMean.map((value) => Math.trunc(value * 255));
  return {
    pad: settings.flag("do_pad", false) ? [red!, green!, blue!] : undefined,
    resize: settings.flag("do_resize", true) ? (settings.size("size") ?? { shortestEdge: 336 }) : undefined,
    filter: settings.filter("bicubic"),
    crop: crop && ("shortestEdge" in crop ? { height: crop.shortestEdge, width: crop.shortestEdge } : crop),
    mean: normalize ? rawMean : [0, 0, 0],
    std: normalize ? settings.deviations("image_std", CLIP_STD) : [1, 1, 1],
    rescale: settings.flag("do_rescale", true) ? settings.number("rescale_factor", 1 / 255) : 1,
  };
}

async function shapeImage(image: RgbImage, { pad, resize, filter, crop }: Preparation): Promise<RgbImage> {
  let shaped = image;
  if (pad) {
    const side = Math.max(image.width, image.height);
    const left = Math.floor((side - image.width) / 2);
    shaped = padImage(image, side, side, left, Math.floor((side - image.height) / 2), pad);
  }
  if (resize) {
    if (crop && "shortestEdge" in resize) shaped = withoutFarEnds(shaped);
    const { width, height } = targetSize(shaped, resize);
    shaped = await resizeImage(shaped, width, height, filter);
  }
  if (!crop) return shaped;
  const left = Math.floor((shaped.width - crop.width) / 2);
  const top = Math.floor((shaped.height - crop.height) / 2);
  return cropImage(shaped, left, top, crop.width, crop.height);
}

function targetSize({ width, height }: RgbImage, size: Size): { width: number; height: number } {
  if (!("shortestEdge" in size)) return size;
  const { shortestEdge: side } = size;
  return width <= height
    ? { width: side, height: Math.trunc((side * height) / width) }
    : { width: Math.trunc((side * width) / height), height: side };
}

/**
 * Of a picture that is far longer than wide only the middle survives the crop; enlarging all of it would take hundreds of
 * megabytes. What is cut here lies well outside of what is left.
 */
function withoutFarEnds(image: RgbImage): RgbImage {
  const { width, height } = image;
  const short = Math.min(width, height);
  const most = 16 * short + (Math.max(width, height) % 2);
  if (width > most) return cropImage(image, (width - most) / 2, 0, most, height);
  if (height > most) return cropImage(image, 0, (height - most) / 2, width, most);
  return image;
}

function readImageToken({ config, processorConfig, folder }: VisionModelSource, tokenizer: Tokenizer) {
  const named = processorConfig["image_token"];
  const id = config["image_token_index"] ?? config["image_token_id"];
  const text = typeof id === "number" ? tokenizer.tokenOf(id) : typeof named === "string" ? named : IMAGE_TOKEN;
  const found = text === undefined ? undefined : tokenizer.idOf(text);
  if (text !== undefined && found !== undefined) return { text, id: found };
  const file = join(folder, "tokenizer.json");
  throw new ModelError(
    `${file} has no image token (${text ?? `id ${String(id)} of config.json`}). Tokenizer and model do not belong together.`,
    { file },
  );
}

/** Rows of a picture: patches, and the class token where the model keeps it. */
function readTokenCount({ config, processorConfig, folder }: VisionModelSource, preparation: Preparation): number {
  const vision = (config["vision_config"] ?? {}) as Record<string, unknown>;
  const patch = processorConfig["patch_size"] ?? vision["patch_size"];
  const size = preparation.crop ?? preparation.resize;
  if (!Number.isSafeInteger(patch) || !size || "shortestEdge" in size) {
    const file = join(folder, Number.isSafeInteger(patch) ? "preprocessor_config.json" : "config.json");
    const what = Number.isSafeInteger(patch) ? "pictures are not brought to one size" : "the patch size is missing";
    throw new ModelError(`${file}: ${what}; LLaVA 1.5 needs it.`, { file });
  }
  // SigLIP has no class token; transformers writes the number into newer files.
  const classTokens =
    processorConfig["num_additional_image_tokens"] ?? (vision["model_type"] === "siglip_vision_model" ? 0 : 1);
  const strategy = processorConfig["vision_feature_select_strategy"] ?? config["vision_feature_select_strategy"];
  const patches = Math.floor(size.height / (patch as number)) * Math.floor(size.width / (patch as number));
  return patches + (classTokens as number) - (strategy === "full" ? 0 : 1);
}
