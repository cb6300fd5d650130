import { NativeError, OptionError } from "../core/errors.js";
import { inferGraph, type InferOptions } from "../core/infer-graph.js";
import type { NativeGraph, NativeTensor } from "../core/native-types.js";
import { showValue } from "../core/validate.js";
import type { JanusFacts } from "../models/janus-facts.js";
import { RgbImage } from "../media/rgb-image.js";

// The references compute in f32; a value just below a whole number must not reach it here.
const { fround } = Math;

/** Turns the image tokens of a picture into pixels. */
export class PictureDecoder {
  readonly #graph: NativeGraph;
  readonly #facts: JanusFacts;

  constructor(graph: NativeGraph, facts: JanusFacts) {
    this.#graph = graph;
    this.#facts = facts;
  }

  /**
   * Decodes a picture. One at a time: the widest layers of a picture take a few hundred MB.
   *
   * @param tokens - as many as are made; the rest is filled up
   * @throws NativeError for values that are no pixels, and what the graph throws; the signal's reason
   */
  async decode(tokens: readonly number[], options: InferOptions): Promise<RgbImage> {
    const { gridSize, codeDimension, imageSize } = this.#facts;
    if (tokens.length === 0) return greyImage(imageSize);
    const codes: NativeTensor = { shape: [1, gridSize * gridSize], data: fillGrid(tokens, gridSize) };
    const shape: NativeTensor = { shape: [4], data: Int32Array.of(1, codeDimension, gridSize, gridSize) };
    const outputs = await inferGraph(this.#graph, this.#inputs(codes, shape), options);
    return pixelsOf(outputs[0], imageSize);
  }

  /** The second port tells the shape of the grid; graphs that know it have only the first. */
  #inputs(codes: NativeTensor, shape: NativeTensor): NativeTensor[] {
    const ports = this.#graph.info.inputs;
    if (ports.length < 2) return [codes];
    const second = ports.findIndex(
      ({ names, shape: dimensions }) => names.includes("shape") || dimensions.length === 1,
    );
    return second === 0 ? [shape, codes] : [codes, shape];
  }
}

/**
 * A whole grid of a picture that is partly made. A missing token is the one above it (in the first row the last one made), so
 * that the decoder, whose convolutions and attention mix neighbours, sees the picture's own colours go on. Any fixed token
 * would be a guess about a codebook that has no neutral entry, and would bleed into the rows that are done.
 */
export function fillGrid(tokens: readonly number[], gridSize: number): Int32Array {
  const grid = new Int32Array(gridSize * gridSize);
  for (let index = 0; index < grid.length; index++) {
    grid[index] = tokens[index] ?? (index >= gridSize ? grid[index - gridSize]! : tokens.at(-1)!);
  }
  return grid;
}

/**
 * Planes of values, nominally from -1 to 1, as pixels: `(x + 1) / 2 * 255`, cut to 0 ... 255, fractions dropped (both reference
 * implementations do the same).
 *
 * @throws NativeError for another shape, or values that are not finite
 */
export function pixelsOf(tensor: NativeTensor | undefined, size: number): RgbImage {
  const plane = size * size;
  const values = tensor?.data;
  if (!values || values.length !== 3 * plane) {
    throw new NativeError(
      `The model's picture decoder gave a tensor of shape [${tensor?.shape.join(", ") ?? ""}] where [1, 3, ${size}, ${size}] was expected.`,
    );
  }
  const pixels = new Uint8Array(3 * plane);
  for (let channel = 0; channel < 3; channel++) {
    for (let index = 0; index < plane; index++) {
      const value = values[channel * plane + index]!;
      if (!Number.isFinite(value)) throw notFinite(value);
      pixels[index * 3 + channel] = Math.min(255, Math.max(0, fround((fround(value + 1) / 2) * 255)));
    }
  }
  return new RgbImage(size, size, pixels);
}

function notFinite(value: number): NativeError {
  return new NativeError(
    `The model's picture decoder gave values that are no numbers (${value}), so there is no picture. The device may compute too ` +
      'coarsely for this model: load it with properties { INFERENCE_PRECISION_HINT: "f32" }; else its files are damaged.',
  );
}

/** What is known of a picture without a single token. */
function greyImage(size: number): RgbImage {
  return new RgbImage(size, size, new Uint8Array(size * size * 3).fill(127));
}

/**
 * Checks the tokens of a whole picture.
 *
 * @throws OptionError naming the entry
 */
export function checkTokens(tokens: unknown, { imageTokens, codebookSize }: JanusFacts): number[] {
  const isList = Array.isArray(tokens) || (ArrayBuffer.isView(tokens) && !(tokens instanceof DataView));
  const list = isList ? Array.from(tokens as ArrayLike<unknown>) : undefined;
  if (list?.length !== imageTokens) {
    const expected = `an array of ${imageTokens} token ids, as a result's tokens are`;
    const received = list ? `${list.length} entries` : showValue(tokens);
    throw new OptionError(`tokens must be ${expected}, received ${received}.`, {
      path: "tokens",
      expected,
      received: tokens,
    });
  }
  const wrong = list.findIndex((id) => !Number.isInteger(id) || (id as number) < 0 || (id as number) >= codebookSize);
  if (wrong >= 0) {
    const expected = `a whole number from 0 to ${codebookSize - 1}`;
    throw new OptionError(`tokens[${wrong}] must be ${expected}, received ${showValue(list[wrong])}.`, {
      path: `tokens[${wrong}]`,
      expected,
      received: list[wrong],
    });
  }
  return list as number[];
}
