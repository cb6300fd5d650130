import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ModelError, UnsupportedError } from "../../../../core/errors.js";
import { janusFixture } from "../../../../testing/janus-fixture.js";
import type { Graph } from "../../ir/graph.js";
import { janusGraphs } from "./janus-checkpoint.js";
import { SafetensorsSource } from "../../read/safetensors.js";
import type { WeightFormat } from "../../ir/weights.js";
import { readJanusShape, type JanusShape } from "./janus-shape.js";

type Json = Record<string, unknown>;

let source: SafetensorsSource;
let shape: JanusShape;
beforeAll(async () => {
  source = await SafetensorsSource.open(janusFixture("tiny"));
  shape = readJanusShape(JSON.parse(await readFile(janusFixture("tiny/config.json"), "utf8")) as Json, "config.json");
});
afterAll(() => source.close());

const graphs = (format: WeightFormat, groupSize?: number): Map<string, Graph> =>
  janusGraphs(source, shape, { format, groupSize });

/** What the notebook's way exported from the same checkpoint. */
const xmlOf = (name: string): Promise<string> => readFile(janusFixture(`tiny-ir/${name}.xml`), "utf8");

const hash = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

async function bytesOf(graph: Graph, name: string): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of graph.nodes.find((node) => node.name === name)!.data!.pieces()) pieces.push(piece);
  return Buffer.concat(pieces);
}

const EXPORTED = [
  ...["openvino_gen_decoder_model", "openvino_gen_embeddings_model", "openvino_gen_head_model"],
  ...["openvino_language_model", "openvino_lm_head_model"],
  ...["openvino_text_embeddings_model", "openvino_vision_embeddings_model"],
];

describe.each(EXPORTED)("%s against the export from Python", (name) => {
  it("has the same inputs", async () => {
    const inputs = (await xmlOf(name)).matchAll(
      /<layer [^>]*name="([^"]*)" type="Parameter"[^>]*>\s*<data shape="([^"]*)" element_type="(\w+)"/g,
    );
    const theirs = [...inputs].map(([, input, dimensions, type]) => [input, type, dimensions!.split(",").length]);
    const ours = graphs("f16")
      .get(name)!
      .nodes.filter(({ type }) => type === "Parameter")
      .map((node) => [node.name, node.attributes["element_type"], node.attributes["shape"]!.split(",").length]);
    expect(ours.sort()).toEqual(theirs.sort());
  });

  it("has the same operations that compute", async () => {
    const theirs = [...(await xmlOf(name)).matchAll(/<layer [^>]*type="(\w+)"/g)].map(([, type]) => type!);
    const ours = graphs("f16")
      .get(name)!
      .nodes.map(({ type }) => type);
    const computing = [
      "MatMul",
      "Convolution",
      "GroupNormalization",
      "MVN",
      "Gelu",
      "Swish",
      "Interpolate",
      "ReadValue",
      "Assign",
    ];
    const count = (types: string[], wanted: string): number => types.filter((type) => type === wanted).length;
    // The export spells out the decoder's attention: two products and a softmax.
    const spelledOut = 2 * count(theirs, "SoftMax");
    for (const type of computing) {
      expect(count(ours, type), type).toBe(count(theirs, type) - (type === "MatMul" ? spelledOut : 0));
    }
    expect(count(ours, "ScaledDotProductAttention")).toBe(count(theirs, "ScaledDotProductAttention") + spelledOut / 2);
  });

  it("has the same large weights, bit by bit", async () => {
    const [xml, bin] = [await xmlOf(name), await readFile(janusFixture(`tiny-ir/${name}.bin`))];
    const theirs = [...xml.matchAll(/element_type="f16" shape="([^"]*)" offset="(\d+)" size="(\d+)"/g)]
      // The export has its codebook normalised already, which costs precision.
      .filter(
        ([, dimensions, , size]) => Number(size) >= 1024 && !(name.includes("decoder") && dimensions === "256, 8"),
      )
      .map(([, , offset, size]) => hash(bin.subarray(Number(offset), Number(offset) + Number(size))));
    const graph = graphs("f16").get(name)!;
    const ours = new Set<string>();
    for (const { name: constant, attributes } of graph.nodes) {
      if (attributes["element_type"] === "f16") ours.add(hash(await bytesOf(graph, constant)));
    }
    expect(theirs.length).toBeGreaterThan(0);
    expect(theirs.filter((one) => !ours.has(one))).toEqual([]);
  });
});

describe("weights", () => {
  it("uses every tensor of the checkpoint", () => {
    const used = new Set([...graphs("f16").values()].flatMap(({ nodes }) => nodes.map(({ name }) => name)));
    expect([...source.tensors.keys()].filter((name) => !used.has(name))).toEqual([]);
  });

  const typesIn = (format: WeightFormat, groupSize?: number): Map<string, string> =>
    new Map(
      [...graphs(format, groupSize).values()].flatMap(({ nodes }) =>
        nodes.flatMap(({ name, type, attributes }) => (type === "Const" ? [[name, attributes["element_type"]!]] : [])),
      ),
    );

  const isMatrix = (name: string): boolean => source.tensors.get(name)?.shape.length === 2;
  const isTable = (name: string): boolean => /position_embedding|generation_embeddings|quantize/.test(name);

  it.each(["int8", "int4"] as const)(
    "%s rounds matrices, and leaves convolutions and small tables as they are",
    (format) => {
      const types = typesIn(format, -1);
      for (const name of source.tensors.keys()) {
        const rounded = isMatrix(name) && !isTable(name);
        const inner = /language_model\.layers/.test(name);
        expect([types.get(name)], name).toEqual(
          rounded ? [format === "int4" && inner ? "i4" : "i8"] : [expect.stringMatching(/^f(16|32)$/)],
        );
      }
    },
  );

  it("f16 rounds nothing to whole numbers", () => {
    for (const [name, type] of typesIn("f16")) if (source.tensors.has(name)) expect(type, name).toMatch(/^f(16|32)$/);
  });
});

describe("sizes of the published models", () => {
  // As their repositories have them: 1B from deepseek-community, 7B from deepseek-ai.
  const small = {
    model_type: "janus",
    text_config: {
      ...{
        model_type: "llama",
        hidden_size: 2048,
        intermediate_size: 5632,
        num_hidden_layers: 24,
        num_attention_heads: 16,
      },
      ...{ vocab_size: 102_400, rms_norm_eps: 1e-6, max_position_embeddings: 16_384 },
    },
    vision_config: {
      ...{
        hidden_size: 1024,
        num_hidden_layers: 24,
        num_attention_heads: 16,
        mlp_ratio: 4,
        image_size: 384,
        patch_size: 16,
      },
      ...{
        layer_norm_eps: 1e-6,
        hidden_act: "gelu",
        attention_bias: true,
        use_qk_norm: false,
        depth: 2,
        projection_dim: 2048,
      },
    },
    vq_config: {
      ...{
        embed_dim: 8,
        num_embeddings: 16_384,
        latent_channels: 256,
        base_channels: 128,
        channel_multiplier: [1, 1, 2, 2, 4],
      },
      ...{ num_res_blocks: 2, double_latent: false, projection_dim: 2048, num_hidden_layers: 2, num_patches: 32 },
    },
  };
  const large = {
    model_type: "multi_modality",
    language_config: {
      model_type: "llama",
      max_position_embeddings: 16_384,
      num_hidden_layers: 30,
      vocab_size: 102_400,
    },
    vision_config: { cls: "CLIPVisionTower", params: { image_size: 384, model_name: "siglip_large_patch16_384" } },
    aligner_config: { params: { depth: 2, input_dim: 1024, n_embed: 4096, projector_type: "mlp_gelu" } },
    gen_aligner_config: { params: { depth: 2, input_dim: 8, n_embed: 4096, projector_type: "mlp_gelu" } },
    gen_vision_config: { cls: "VQ-16", params: { image_token_size: 16_384, n_embed: 8 } },
  };
  const vision = {
    ...{ width: 1024, layers: 24, heads: 16, inner: 4096, imageSize: 384, patchSize: 16, normEpsilon: 1e-6 },
  };
  const vq = {
    ...{ codebookSize: 16_384, codeDimension: 8, latentChannels: 256, baseChannels: 128 },
    ...{ multipliers: [1, 1, 2, 2, 4], blocks: 2, gridSize: 24 },
  };

  it.each([
    ["1B", small, { width: 2048, layers: 24, heads: 16, keyValueHeads: 16, headSize: 128, inner: 5632 }],
    [
      "7B in the original layout",
      large,
      { width: 4096, layers: 30, heads: 32, keyValueHeads: 32, headSize: 128, inner: 11_008 },
    ],
  ])("%s", (_, config, text) => {
    const read = readJanusShape(config, "config.json");
    expect(read.text).toMatchObject({ ...text, vocabularySize: 102_400, contextLength: 16_384, normEpsilon: 1e-6 });
    expect(read).toMatchObject({
      ...{ vision, vq, aligner: { inputs: 1024, width: text.width, depth: 2 } },
      generation: { codebookSize: 16_384, aligner: { inputs: 8, width: text.width, depth: 2 } },
    });
  });

  it("a checkpoint that is quantized already is refused", async () => {
    const config = JSON.parse(await readFile(janusFixture("tiny/config.json"), "utf8")) as Json;
    const quantized = { ...config, quantization_config: { quant_method: "gptq" } };
    expect(() => readJanusShape(quantized, "config.json")).toThrow(/quantized already \(gptq\)/);
  });

  it.each([
    [
      { vision_config: { params: { model_name: "siglip_so400m_patch14_384" } } },
      /vision tower "siglip_so400m_patch14_384"/,
    ],
    [{ gen_vision_config: { cls: "VQ-8" } }, /gen_vision_config\.cls "VQ-8"/],
  ])("the original layout with %j is not known", (change, message) => {
    const read = (): unknown => readJanusShape({ ...large, ...change }, "config.json");
    expect(read).toThrow(UnsupportedError);
    expect(read).toThrow(message);
    expect(read).toThrow(/deepseek-community/);
  });

  it("a width that the parts do not share", () => {
    const config = { ...large, aligner_config: { params: { n_embed: 2048 } } };
    expect(() => readJanusShape(config, "config.json")).toThrow(ModelError);
  });
});
