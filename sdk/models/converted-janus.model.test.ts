import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inferGraph } from "../core/infer-graph.js";
import { getNative } from "../core/native.js";
import type { NativeGraph, NativeTensor } from "../core/native-types.js";
import { goldenBytes, goldenFloats, janusFixture, janusGoldens } from "../testing/janus-fixture.js";
import { resolveVisionModel, type VisionModelSource } from "./vision-model.js";

interface Prompt {
  input_ids: number[];
}
const goldens = janusGoldens() as Record<string, Prompt> & {
  t2i: { cond_ids: number[]; uncond_ids: number[]; guidance: number; greedy_tokens: number[] };
  vq: { encode_ids_transformers: number[]; encode_ids_original_l2norm: number[] };
};

/** Sizes of the tiny model. */
const [WIDTH, VOCABULARY, CODEBOOK, PATCHES, PIXELS] = [48, 304, 256, 16, 32];
const PLACEHOLDER = 288;

let cacheFolder: string;
beforeAll(async () => void (cacheFolder = await mkdtemp(join(tmpdir(), "pergola-converted-"))));
afterAll(() => rm(cacheFolder, { recursive: true, force: true }));

const openGraph = (source: VisionModelSource, name: string): Promise<NativeGraph> =>
  getNative().openGraph({ ...source.graph(`openvino_${name}_model`), device: "CPU", properties: {}, cacheDir: "" })
    .promise;

const opened = new Map<string, NativeGraph>();
afterAll(() => Promise.all([...opened.values()].map((graph) => graph.close())));

/** First output of a graph of the model. */
async function run(source: VisionModelSource, name: string, inputs: NativeTensor[]): Promise<NativeTensor> {
  const key = `${source.folder} ${name}`;
  const graph = opened.get(key) ?? (await openGraph(source, name));
  opened.set(key, graph);
  return (await inferGraph(graph, inputs))[0]!;
}

const floats = (tensor: NativeTensor): Float32Array => {
  expect(tensor.data).toBeInstanceOf(Float32Array);
  return tensor.data as Float32Array;
};

const tensor = (data: NativeTensor["data"], ...shape: number[]): NativeTensor => ({ data, shape });
const ids = (values: readonly number[], ...shape: number[]): NativeTensor => tensor(Int32Array.from(values), ...shape);

function largestDifference(values: Float32Array, wanted: Float32Array): number {
  expect(values.length).toBe(wanted.length);
  return values.reduce((largest, value, index) => Math.max(largest, Math.abs(value - wanted[index]!)), 0);
}

/** Rows of a prompt, with the features of its pictures in their places. */
async function promptRows(
  source: VisionModelSource,
  prompt: readonly number[],
  pictures: string,
): Promise<Float32Array> {
  const rows = Float32Array.from(floats(await run(source, "text_embeddings", [ids(prompt, 1, prompt.length)])));
  const places = prompt.flatMap((id, index) => (id === PLACEHOLDER ? [index] : []));
  const features = Array.from(pictures, (picture) => goldenFloats(`image_features_${picture}`).data);
  expect(places).toHaveLength(features.length * PATCHES);
  places.forEach((place, index) => {
    const [picture, row] = [Math.floor(index / PATCHES), index % PATCHES];
    rows.set(features[picture]!.subarray(row * WIDTH, (row + 1) * WIDTH), place * WIDTH);
  });
  return rows;
}

/** Hidden states of rows, each sequence from its beginning. */
async function hiddenStates(source: VisionModelSource, rows: Float32Array, batch: number): Promise<Float32Array> {
  const length = rows.length / WIDTH / batch;
  const positions = Array.from({ length: batch * length }, (_, index) => index % length);
  // Graphs are not meant to keep anything; this one keeps keys and values, so it is opened for one inference only.
  const graph = await openGraph(source, "language");
  const [hidden] = await inferGraph(graph, [
    { name: "inputs_embeds", ...tensor(rows, batch, length, WIDTH) },
    {
      name: "attention_mask",
      ...ids(
        positions.map(() => 1),
        batch,
        length,
      ),
    },
    { name: "position_ids", ...ids(positions, batch, length) },
    {
      name: "beam_idx",
      ...ids(
        Array.from({ length: batch }, (_, row) => row),
        batch,
      ),
    },
  ]).finally(() => graph.close());
  expect(hidden!.shape).toEqual([batch, length, WIDTH]);
  return floats(hidden!);
}

/** The state of the last row of each sequence. */
function lastRows(hidden: Float32Array, batch: number): Float32Array {
  const size = hidden.length / batch;
  return Float32Array.from(
    Array.from({ length: batch }, (_, row) => [...hidden.subarray((row + 1) * size - WIDTH, (row + 1) * size)]).flat(),
  );
}

/** The export from Python has a rounded table of rotary frequencies and a rounded codebook; ours has neither. */
describe.each([
  ["the checkpoint, converted", "tiny", 1e-4, 1e-4],
  ["the notebook's export", "tiny-ir", 0.08, 0.005],
])("%s, against transformers", (_, folder, textTolerance, pixelTolerance) => {
  let source: VisionModelSource;
  beforeAll(async () => void (source = await resolveVisionModel(janusFixture(folder), { cacheFolder })));

  const decode = async (tokens: readonly number[], batch = 1): Promise<NativeTensor> =>
    run(source, "gen_decoder", [
      { name: "code_b", ...ids(Array.from({ length: batch }, () => tokens).flat(), batch, PATCHES) },
      { name: "shape", ...ids([batch, 8, 4, 4], 4) },
    ]);

  it.each(["a", "b"])("features of picture %s", async (picture) => {
    const { data } = goldenFloats(`pixel_values_${picture}`);
    const features = await run(source, "vision_embeddings", [tensor(data, 1, 1, 3, PIXELS, PIXELS)]);
    expect(features.shape).toEqual([1, PATCHES, WIDTH]);
    expect(largestDifference(floats(features), goldenFloats(`image_features_${picture}`).data)).toBeLessThan(1e-4);
  });

  it("features of several pictures, in one item or in several", async () => {
    const pixels = ["a", "b"].flatMap((picture) => [...goldenFloats(`pixel_values_${picture}`).data]);
    const wanted = Float32Array.from(
      ["a", "b"].flatMap((picture) => [...goldenFloats(`image_features_${picture}`).data]),
    );
    for (const [batch, pictures] of [
      [1, 2],
      [2, 1],
    ] as const) {
      const shape = [batch, pictures, 3, PIXELS, PIXELS];
      const features = await run(source, "vision_embeddings", [tensor(Float32Array.from(pixels), ...shape)]);
      expect(features.shape).toEqual([batch, pictures * PATCHES, WIDTH]);
      expect(largestDifference(floats(features), wanted)).toBeLessThan(1e-4);
    }
  });

  it.each([
    ["vqa_a", "a"],
    ["vqa_b", "b"],
    ["vqa_two", "ab"],
    ["multi_turn", "a"],
    ["text_only", ""],
  ])("logits behind the prompt %s", async (name, pictures) => {
    const rows = await promptRows(source, goldens[name]!.input_ids, pictures);
    const last = lastRows(await hiddenStates(source, rows, 1), 1);
    const logits = await run(source, "lm_head", [tensor(last, 1, 1, WIDTH)]);
    expect(logits.shape).toEqual([1, 1, VOCABULARY]);
    expect(largestDifference(floats(logits), goldenFloats(`${name}_last_logits`).data)).toBeLessThan(textTolerance);
  });

  it("logits of a picture's tokens, with guidance", async () => {
    const { cond_ids: conditional, uncond_ids: unconditional, guidance, greedy_tokens: tokens } = goldens.t2i;
    const prompts = await Promise.all([conditional, unconditional].map((prompt) => promptRows(source, prompt, "")));
    const embedded = floats(await run(source, "gen_embeddings", [ids(tokens, tokens.length)]));
    expect(
      largestDifference(embedded.subarray(0, WIDTH), goldenFloats("t2i_gen_embeds_first_token").data),
    ).toBeLessThan(1e-5);
    for (let step = 0; step < 3; step++) {
      const rows = prompts.flatMap((prompt) => [...prompt, ...embedded.subarray(0, step * WIDTH)]);
      const last = lastRows(await hiddenStates(source, Float32Array.from(rows), 2), 2);
      const logits = floats(await run(source, "gen_head", [tensor(last, 2, WIDTH)]));
      const [with_, without] = [logits.subarray(0, CODEBOOK), logits.subarray(CODEBOOK)];
      const guided = without.map((value, index) => value + guidance * (with_[index]! - value));
      expect(guided.indexOf(Math.max(...guided))).toBe(tokens[step]);
      const wanted = goldenFloats("t2i_logits_cfg").data.subarray(step * CODEBOOK, (step + 1) * CODEBOOK);
      expect(largestDifference(guided, wanted)).toBeLessThan(textTolerance);
    }
  });

  it("pixels of a picture's tokens", async () => {
    const pixels = await decode(goldens.t2i.greedy_tokens);
    expect(pixels.shape).toEqual([1, 3, PIXELS, PIXELS]);
    const wanted = goldenFloats("t2i_pixels_float_hwc").data;
    const [values, plane] = [floats(pixels), PIXELS * PIXELS];
    const rows = wanted.map((_, index) => values[(index % 3) * plane + Math.floor(index / 3)]!);
    expect(largestDifference(rows, wanted)).toBeLessThan(pixelTolerance);
    // As bytes, the fraction dropped.
    const bytes = Uint8Array.from(rows, (value) => Math.min(255, Math.max(0, ((value + 1) / 2) * 255)));
    const off = Math.max(
      ...bytes.map((value, index) => Math.abs(value - goldenBytes("t2i_pixels_uint8").data[index]!)),
    );
    expect(off).toBeLessThanOrEqual(folder === "tiny" ? 0 : 1);
  });

  it("pixels of several pictures at once", async () => {
    const two = floats(await decode(goldens.vq.encode_ids_original_l2norm, 2));
    const wanted = goldenFloats("vq_decode_of_encode_l2_chw").data;
    expect(largestDifference(two.subarray(wanted.length), wanted)).toBeLessThan(pixelTolerance);
  });
});

describe("the encoder of pictures", () => {
  it("finds the tokens that the original program finds", async () => {
    const source = await resolveVisionModel(janusFixture("tiny"), { cacheFolder });
    const { data } = goldenFloats("pixel_values_a");
    const tokens = await run(source, "gen_encoder", [tensor(data, 1, 3, PIXELS, PIXELS)]);
    expect(tokens.shape).toEqual([1, PATCHES]);
    expect([...tokens.data]).toEqual(goldens.vq.encode_ids_original_l2norm);
    expect([...tokens.data]).not.toEqual(goldens.vq.encode_ids_transformers);
  });
});

// No width of this model is a multiple of 32, so a row is a group. Random weights show every rounding error.
describe.each([
  ["int8", undefined, 0.995],
  ["int4", -1, 0.85],
] as const)("%s", (weights, groupSize, closeness) => {
  let source: VisionModelSource;
  beforeAll(async () => {
    source = await resolveVisionModel(janusFixture("tiny"), { cacheFolder, weights, groupSize });
  });

  it("leaves pictures as they are", async () => {
    const inputs = [
      { name: "code_b", ...ids(goldens.vq.encode_ids_original_l2norm, 1, PATCHES) },
      { name: "shape", ...ids([1, 8, 4, 4], 4) },
    ];
    const pixels = floats(await run(source, "gen_decoder", inputs));
    expect(largestDifference(pixels, goldenFloats("vq_decode_of_encode_l2_chw").data)).toBeLessThan(1e-4);
  });

  it("sees and answers nearly the same", async () => {
    const { data } = goldenFloats("pixel_values_a");
    const features = floats(await run(source, "vision_embeddings", [tensor(data, 1, 1, 3, PIXELS, PIXELS)]));
    expect(similarity(features, goldenFloats("image_features_a").data)).toBeGreaterThan(0.999);
    const last = lastRows(await hiddenStates(source, await promptRows(source, goldens["vqa_a"]!.input_ids, "a"), 1), 1);
    const logits = floats(await run(source, "lm_head", [tensor(last, 1, 1, WIDTH)]));
    expect(similarity(logits, goldenFloats("vqa_a_last_logits").data)).toBeGreaterThan(closeness);
  });
});

/** Cosine. */
function similarity(one: Float32Array, other: Float32Array): number {
  const product = (left: Float32Array, right: Float32Array): number =>
    left.reduce((sum, value, index) => sum + value * right[index]!, 0);
  return product(one, other) / Math.sqrt(product(one, one) * product(other, other));
}
