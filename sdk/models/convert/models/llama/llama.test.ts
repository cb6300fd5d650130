import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { floatTensor, safetensorsFile, type BuiltTensor } from "../../../../testing/checkpoint-builders.js";
import { tinyHf, variant } from "../../../../testing/model-fixtures.js";
import type { Graph } from "../../ir/graph.js";
import { SafetensorsSource } from "../../read/safetensors.js";
import { llamaDecoder, type LlamaDecoderOptions } from "./llama-decoder.js";
import { LLAMA_TYPES, readLlamaShape } from "./llama-shape.js";
import { embeddingGraph, headGraph } from "./token-graphs.js";

let root: string;
beforeAll(async () => void (root = await mkdtemp(join(tmpdir(), "pergola-llama-"))));
afterAll(() => rm(root, { recursive: true, force: true }));

const configOf = async (folder: string): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(join(folder, "config.json"), "utf8")) as Record<string, unknown>;

const F16 = { format: "f16" } as const;

async function decoder(folder: string, options: Partial<LlamaDecoderOptions> = {}): Promise<Graph> {
  const source = await SafetensorsSource.open(folder);
  try {
    const shape = readLlamaShape(await configOf(folder), "config.json");
    return llamaDecoder(source, shape, { input: "ids", output: "logits", weights: F16, ...options });
  } finally {
    await source.close();
  }
}

const count = ({ nodes }: Graph, type: string): number => nodes.filter((node) => node.type === type).length;
const inputs = ({ nodes }: Graph): string[] =>
  nodes.flatMap(({ type, name, attributes }) =>
    type === "Parameter" ? [`${name} ${attributes["element_type"]} ${attributes["shape"]}`] : [],
  );
const outputs = ({ nodes }: Graph): string[] =>
  nodes.flatMap(({ type, inputs: [input] }) => (type === "Result" ? input!.node.outputNames : []));
const constantTypes = ({ nodes }: Graph): Set<string> =>
  new Set(nodes.flatMap(({ name, output }) => (name.endsWith(".weight") ? [output as string] : [])));

describe("the decoder", () => {
  it("reads ids and makes logits, with two variables a layer", async () => {
    const graph = await decoder(tinyHf("llama"));
    expect(inputs(graph)).toEqual([
      "input_ids i64 ?,?",
      "attention_mask i64 ?,?",
      "position_ids i64 ?,?",
      "beam_idx i32 ?",
    ]);
    expect(outputs(graph)).toEqual(["logits"]);
    expect([count(graph, "ReadValue"), count(graph, "Assign")]).toEqual([6, 6]);
    const variables = graph.nodes.flatMap(({ type, attributes }) =>
      type === "ReadValue" ? [attributes["variable_id"]] : [],
    );
    expect(variables.sort()).toContain("past_key_values.2.valuepresent.2.value");
    expect(count(graph, "ScaledDotProductAttention")).toBe(3);
    expect(graph.runtimeOptions["KV_CACHE_PRECISION"]).toBe("f16");
  });

  it("reads embeddings and makes hidden states, without their matrices", async () => {
    const graph = await decoder(tinyHf("llama"), { input: "embeddings", output: "hidden" });
    expect(inputs(graph)[0]).toBe("inputs_embeds f32 ?,?,64");
    expect(outputs(graph)).toEqual(["last_hidden_state"]);
    expect(graph.nodes.map(({ name }) => name).join()).not.toMatch(/embed_tokens|lm_head/);
  });

  it("has 8 bits in the embedding and the last layer where the rest has 4", async () => {
    const graph = await decoder(tinyHf("llama"), { weights: { format: "int4", groupSize: 32 } });
    const typeOf = (name: string): unknown => graph.nodes.find((node) => node.name === name)?.output;
    expect(typeOf("model.embed_tokens.weight")).toBe("i8");
    expect(typeOf("lm_head.weight")).toBe("i8");
    expect(typeOf("model.layers.0.mlp.up_proj.weight")).toBe("i4");
    expect(typeOf("model.norm.weight")).toBe("f16");
    expect(graph.runtimeOptions["KV_CACHE_PRECISION"]).toBeUndefined();
  });

  it("has 8 bits where rows are no whole number of groups", async () => {
    // Rows of 64 and of 96 values.
    const graph = await decoder(tinyHf("llama"), { weights: { format: "int4", groupSize: 64 } });
    const typeOf = (name: string): unknown => graph.nodes.find((node) => node.name === name)?.output;
    expect(typeOf("model.layers.0.mlp.up_proj.weight")).toBe("i4");
    expect(typeOf("model.layers.0.mlp.down_proj.weight")).toBe("i8");
    expect(constantTypes(await decoder(tinyHf("llama"), { weights: { format: "int4", groupSize: -1 } }))).toEqual(
      new Set(["i8", "i4", "f16"]),
    );
  });

  it("uses the embedding for both ends where the configuration says so, or nothing else is there", async () => {
    const head = ({ nodes }: Graph): string[] =>
      nodes.map(({ name }) => name).filter((name) => /lm_head|embed_tokens/.test(name));
    expect(head(await decoder(tinyHf("qwen2")))).toEqual(["model.embed_tokens.weight"]);
    expect(head(await decoder(tinyHf("llama")))).toEqual(["model.embed_tokens.weight", "lm_head.weight"]);
    const source = await SafetensorsSource.open(tinyHf("qwen2"));
    const config = { ...(await configOf(tinyHf("qwen2"))), tie_word_embeddings: undefined };
    const graph = llamaDecoder(source, readLlamaShape(config, ""), { input: "ids", output: "logits", weights: F16 });
    await source.close();
    expect(head(graph)).toEqual(["model.embed_tokens.weight"]);
  });

  it("keeps scores within limits without the attention operation, which cannot", async () => {
    const graph = await decoder(tinyHf("gemma2"));
    expect([count(graph, "ScaledDotProductAttention"), count(graph, "SoftMax"), count(graph, "Tanh")]).toEqual([
      0, 3, 4,
    ]);
  });

  it("has a mask for each window, not for each layer", async () => {
    expect(count(await decoder(tinyHf("llama")), "Select")).toBe(1);
    expect(count(await decoder(variant("window")), "Select")).toBe(1);
    expect(count(await decoder(variant("mixed-windows")), "Select")).toBe(2);
  });

  it("names a tensor that is missing or does not fit, and its file", async () => {
    const source = await SafetensorsSource.open(tinyHf("llama"));
    const config = await configOf(tinyHf("llama"));
    const build = (changes: object): Graph =>
      llamaDecoder(source, readLlamaShape({ ...config, ...changes }, "config.json"), {
        input: "ids",
        output: "logits",
        weights: F16,
      });
    expect(() => build({ num_hidden_layers: 4 })).toThrow(/no tensor "model\.layers\.3\./);
    expect(() => build({ num_hidden_layers: 2 })).toThrow(/more layers than config\.json says \(2\)/);
    expect(() => build({ intermediate_size: 98 })).toThrow(
      /model\.safetensors: tensor "model\.layers\.0\.mlp\.gate_proj\.weight" has the shape \[96, 64\], but config\.json asks for \[98, 64\]/,
    );
    expect(() => build({ model_type: "qwen3" })).toThrow(/no tensor "model\.layers\.0\.self_attn\.q_norm\.weight"/);
    await source.close();
  });

  it("refuses weights of whole numbers", async () => {
    const tensors: BuiltTensor[] = [
      { name: "model.embed_tokens.weight", shape: [4, 8], dtype: "I8", bytes: new Uint8Array(32) },
      floatTensor("lm_head.weight", [4, 8]),
    ];
    await writeFile(join(root, "model.safetensors"), safetensorsFile(tensors));
    const source = await SafetensorsSource.open(root);
    const matrix = { vocabularySize: 4, width: 8, weights: F16 };
    expect(() => embeddingGraph(source, { tensor: "model.embed_tokens.weight", ...matrix })).toThrow(/holds i8 values/);
    const head = headGraph(source, { tensor: "lm_head.weight", ...matrix });
    expect([inputs(head), outputs(head)]).toEqual([["input f32 ?,?,8"], ["logits"]]);
    await source.close();
  });
});

describe("a configuration", () => {
  const minimal = {
    hidden_size: 64,
    intermediate_size: 96,
    num_hidden_layers: 3,
    num_attention_heads: 4,
    vocab_size: 304,
  };

  it("may leave out what its kind has by default", () => {
    expect(readLlamaShape({ model_type: "llama", ...minimal }, "")).toMatchObject({
      keyValueHeads: 4,
      headSize: 16,
      contextLength: 2048,
    });
    const mistral = readLlamaShape({ model_type: "mistral", ...minimal, num_attention_heads: 8 }, "");
    expect(mistral).toMatchObject({ keyValueHeads: 8, contextLength: 131_072, windows: [4096, 4096, 4096] });
    expect(readLlamaShape({ model_type: "qwen2", ...minimal, num_key_value_heads: 2 }, "")).toMatchObject({
      queryKeyValueBias: true,
      outputBias: false,
    });
    expect(readLlamaShape({ model_type: "qwen3", ...minimal, num_key_value_heads: 2 }, "")).toMatchObject({
      headSize: 128,
      queryKeyNorm: true,
    });
  });

  it("has windows only where texts can be longer", () => {
    const windows = (config: object): unknown => readLlamaShape({ ...minimal, ...config }, "").windows;
    const none = [undefined, undefined, undefined];
    expect(windows({ model_type: "mistral", num_key_value_heads: 4, sliding_window: null })).toEqual(none);
    expect(windows({ model_type: "mistral", num_key_value_heads: 4, max_position_embeddings: 4096 })).toEqual(none);
    expect(windows({ model_type: "qwen2", num_key_value_heads: 4, sliding_window: 8 })).toEqual(none);
    const used = { model_type: "qwen2", num_key_value_heads: 4, use_sliding_window: true, sliding_window: 8 };
    expect(windows({ ...used, max_window_layers: 1 })).toEqual([undefined, 8, 8]);
    expect(windows({ ...used, layer_types: ["sliding_attention", "full_attention", "full_attention"] })).toEqual([
      8,
      undefined,
      undefined,
    ]);
    expect(windows({ model_type: "gemma2", num_key_value_heads: 4, sliding_window: 8 })).toEqual([8, undefined, 8]);
  });

  it.each([
    [{ hidden_size: 0 }, /"hidden_size" must be a positive whole number, found 0/],
    [
      { num_hidden_layers: 1e9 },
      /"num_hidden_layers" must be a positive whole number below 16777216, found 1000000000/,
    ],
    [{ num_hidden_layers: "3" }, /"num_hidden_layers".*found "3"/],
    [{ num_key_value_heads: 3 }, /num_attention_heads 4 is not a multiple of num_key_value_heads 3/],
    [{ head_dim: 15 }, /heads have 15 values/],
    [{ rms_norm_eps: 0 }, /"rms_norm_eps"/],
    [{ model_type: "mistral", num_key_value_heads: 4, sliding_window: -1 }, /"sliding_window"/],
  ])("must make sense: %j", (changes, message) => {
    expect(() => readLlamaShape({ ...minimal, ...changes }, "config.json")).toThrow(message);
  });

  it.each([
    [{ model_type: "mamba" }, /"mamba" cannot be converted \(llama, mistral/],
    [{ hidden_act: "relu" }, /activation "relu" is not known/],
    [{ quantization_config: { quant_method: "gptq" } }, /quantized already \(gptq\)/],
    [{ rope_scaling: { type: "spiral" } }, /"spiral"/],
  ])("of an unknown variant is told: %j", (changes, message) => {
    expect(() => readLlamaShape({ ...minimal, ...changes }, "config.json")).toThrow(message);
  });

  it("is known for all these", () => {
    expect(LLAMA_TYPES).toEqual(["llama", "mistral", "qwen2", "qwen3", "phi3", "gemma2"]);
  });
});
