import { createHash } from "node:crypto";
import { throwIfAborted, unlessAborted } from "../core/abort.js";
import { PergolaError, ModelError } from "../core/errors.js";
import { identifyImage, type IdentifiedImage } from "../media/image.js";
import type { PromptWork } from "../generation/text-model.js";
import type { ImageLayout, OpenedFamily, PreparedImage } from "./families/family.js";
import { FeatureCache, type Features } from "./feature-cache.js";
import type { VisionEncoder } from "./vision-encoder.js";
import type { CheckedImage } from "./vlm-messages.js";

/** A picture of a prompt whose place in it is known. */
export interface Picture {
  /** Equal for equal content, prepared in the same way; 64 hexadecimal digits. */
  key: string;
  layout: ImageLayout;
  /** Its features; made where they are not there yet. */
  rows(work: PromptWork): Promise<Float32Array>;
}

/** Looks at pictures: which they are, how they stand in a prompt, and what the encoder makes of them. */
export class Pictures {
  readonly #family: OpenedFamily;
  readonly #encoder: VisionEncoder;
  readonly #cache: FeatureCache;
  /** Content of what chats keep by name only: a picture stays the same through a conversation, and is fetched once. */
  readonly #known = new WeakMap<object, KnownImage>();

  constructor(family: OpenedFamily, encoder: VisionEncoder, cacheBytes: number) {
    this.#family = family;
    this.#encoder = encoder;
    this.#cache = new FeatureCache(cacheBytes);
  }

  /**
   * Finds out how pictures stand in a prompt, one after the other. Only those whose features are not there are decoded, each once.
   *
   * @throws OptionError, MediaError, DownloadError naming the picture; or the signal's reason
   */
  async look(images: readonly CheckedImage[], signal: AbortSignal | undefined): Promise<Picture[]> {
    // All at once, as bytes of the caller's are copied before anything is waited for.
    const identified = await Promise.all(images.map((image) => named(image, () => this.#identify(image, signal))));
    const seen = new Map<string, Picture>();
    const pictures: Picture[] = [];
    for (const [index, found] of identified.entries()) {
      throwIfAborted(signal);
      let picture = seen.get(found.key);
      if (!picture) seen.set(found.key, (picture = await named(images[index]!, () => this.#prepare(found, signal))));
      pictures.push(picture);
    }
    return pictures;
  }

  async #prepare(identified: IdentifiedImage, signal: AbortSignal | undefined): Promise<Picture> {
    const key = createHash("sha256").update(`${this.#family.key} ${identified.key}`).digest("hex");
    const kept = this.#cache.get(key);
    if (kept) return { key, layout: kept.layout, rows: async () => kept.rows };
    const prepared = await this.#family.prepare(await unlessAborted(identified.read(), signal));
    const encode = (ends: AbortSignal, work: PromptWork): Promise<Features> => this.#encode(prepared, ends, work);
    let made: Features | undefined;
    return {
      key,
      layout: prepared.layout,
      // Kept for a picture that stands in a prompt twice, whether or not the cache has room for it.
      rows: async (work) => (made ??= await this.#cache.make(key, work.signal, (ends) => encode(ends, work))).rows,
    };
  }

  async #encode(prepared: PreparedImage, signal: AbortSignal, { callSite }: PromptWork): Promise<Features> {
    const { layout } = prepared;
    const { rows } = await this.#family.encode(prepared, this.#encoder.graphs({ signal, callSite }));
    const tokens = layout.runs.reduce((sum, count) => sum + count, 0);
    const { hiddenSize, file } = this.#encoder;
    if (rows.length !== tokens * hiddenSize) {
      throw new ModelError(
        `${file} gives ${rows.length} values for a picture of ${tokens} tokens; the language model wants ${hiddenSize} for each. ` +
          "The files do not belong together, or preprocessor_config.json does not fit the model.",
        { file },
      );
    }
    return { layout, rows };
  }

  #identify(image: CheckedImage, signal: AbortSignal | undefined): Promise<IdentifiedImage> {
    const options = { alpha: image.alpha, path: image.path };
    const { kept } = image;
    if (!kept || typeof image.image !== "string") return identifyImage(image.image, { ...options, signal });
    const known = this.#known.get(kept);
    // Copies that a chat hands out are kept parts too, and their owner may change them.
    if (known?.image === image.image && known.alpha === image.alpha) return unlessAborted(known.identified, signal);
    const identified = identifyImage(image.image, options);
    identified.catch(() => this.#known.delete(kept));
    this.#known.set(kept, { image: image.image, alpha: image.alpha, identified });
    // Not ended by the signal of this call: later ones go by it too.
    return unlessAborted(identified, signal);
  }
}

interface KnownImage extends Pick<CheckedImage, "image" | "alpha"> {
  identified: Promise<IdentifiedImage>;
}

/** Lets errors tell which picture of the prompt they are about. */
async function named<Value>({ path }: CheckedImage, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (PergolaError.isInstance(error) && !error.message.includes(path)) error.message = `${path}: ${error.message}`;
    throw error;
  }
}
