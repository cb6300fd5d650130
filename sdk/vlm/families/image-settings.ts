import { join } from "node:path";
import { ModelError, UnsupportedError } from "../../core/errors.js";
import type { ResizeFilter } from "../../media/image-pixels.js";
import type { VisionModelSource } from "../../models/vision-model.js";

type Json = Record<string, unknown>;

/** What processor files say about the preparation of pictures, with checks that name the file. */
export class ImageSettings {
  readonly #values: Json;
  readonly #file: string;

  /** From `image_processor` in `processor_config.json` (transformers 5), else from `preprocessor_config.json`. */
  constructor({ folder, preprocessorConfig, processorConfig }: VisionModelSource) {
    const nested = processorConfig["image_processor"];
    const isNested = typeof nested === "object" && nested !== null;
    this.#values = isNested ? (nested as Json) : preprocessorConfig;
    this.#file = join(folder, isNested ? "processor_config.json" : "preprocessor_config.json");
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.#values[name] ?? fallback;
    if (typeof value !== "boolean") throw this.#wrong(name, "true or false", value);
    return value;
  }

  number(name: string, fallback: number): number {
    const value = this.#values[name] ?? fallback;
    if (typeof value !== "number" || !Number.isFinite(value)) throw this.#wrong(name, "a number", value);
    return value;
  }

  /** Three numbers, one for each of R, G, B. */
  channels(name: string, fallback: readonly number[]): readonly number[] {
    const value = this.#values[name] ?? fallback;
    const isChannels = Array.isArray(value) && value.length === 3 && value.every((entry) => Number.isFinite(entry));
    if (!isChannels) throw this.#wrong(name, "three numbers", value);
    return value as number[];
  }

  /** What the channels are divided by. */
  deviations(name: string, fallback: readonly number[]): readonly number[] {
    const values = this.channels(name, fallback);
    if (!values.every((value) => value > 0)) throw this.#wrong(name, "three numbers above 0", values);
    return values;
  }

  /** A size: a number, `{ shortest_edge }`, or `{ height, width }`; `undefined` where there is none. */
  size(name: string): { shortestEdge: number } | { height: number; width: number } | undefined {
    const value = this.#values[name];
    if (value === undefined || value === null) return undefined;
    const isSide = (side: unknown): side is number => Number.isSafeInteger(side) && (side as number) > 0;
    if (isSide(value)) return { shortestEdge: value };
    const { shortest_edge: shortestEdge, height, width } = (typeof value === "object" ? value : {}) as Json;
    if (isSide(shortestEdge)) return { shortestEdge };
    if (isSide(height) && isSide(width)) return { height, width };
    throw this.#wrong(name, "a size: a whole number, { shortest_edge } or { height, width }", value);
  }

  /** Kernel of the resampling, by Pillow's number. */
  filter(fallback: ResizeFilter): ResizeFilter {
    const value = this.#values["resample"];
    if (value === undefined || value === null) return fallback;
    const filter = FILTERS[value as number];
    if (filter) return filter;
    throw new UnsupportedError(
      `${this.#file}: resample ${JSON.stringify(value)} is not supported; bilinear (2), bicubic (3) and Lanczos (1) are.`,
      { subject: "resample" },
    );
  }

  #wrong(name: string, expected: string, received: unknown): ModelError {
    return new ModelError(`${this.#file}: ${name} must be ${expected}, it is ${JSON.stringify(received)}.`, {
      file: this.#file,
    });
  }
}

/** Numbers of Pillow's `Resampling`. */
const FILTERS: Record<number, ResizeFilter | undefined> = { 1: "lanczos", 2: "bilinear", 3: "bicubic" };
