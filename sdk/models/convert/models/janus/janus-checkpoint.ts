import { basename, join } from "node:path";
import { readJsonObject } from "../../../files/json-file.js";
import type { Architecture, Checkpoint, PreparedConversion } from "../common/architecture.js";
import { generationEmbeddings, generationHead } from "./janus-generation.js";
import { readJanusShape, type JanusShape } from "./janus-shape.js";
import { llamaDecoder } from "../llama/llama-decoder.js";
import { siglipGraph } from "./siglip.js";
import { embeddingGraph, headGraph } from "../llama/token-graphs.js";
import { vqDecoder, vqEncoder } from "./vq.js";
import { existing, requireFiles } from "../../read/checkpoint-files.js";
import type { Graph } from "../../ir/graph.js";
import { hasOriginalNames, OriginalJanusSource } from "./janus-original.js";
import { findSafetensors, SafetensorsSource } from "../../read/safetensors.js";
import type { TensorSource } from "../../read/tensor-source.js";
import type { WeightPlan } from "../../ir/weights.js";

/** Janus, from Hugging Face folders with safetensors in transformers' layout or in the original one. */
export const JANUS: Architecture = {
  name: "janus",
  modelTypes: ["janus", "multi_modality"],
  formats: ["f16", "int8", "int4"],
  files: async ({ folder }) => [...(await findSafetensors(folder)).paths, ...(await existing(folder, KEPT))],
  prepare: prepareJanus,
};

/** Taken over as they are where the checkpoint has them. */
const KEPT = [
  ...["config.json", "generation_config.json", "preprocessor_config.json", "processor_config.json"],
  ...["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"],
  ...["chat_template.jinja", "chat_template.json"],
];

/**
 * The files that the OpenVINO notebook makes, and an encoder of pictures (`openvino_gen_encoder_model`) besides. The plan is
 * for the language model: where it says 4 bits, all other matrices have 8. Convolutions are f16 in every plan.
 */
async function prepareJanus({ folder }: Checkpoint, plan: WeightPlan): Promise<PreparedConversion> {
  await requireFiles(folder, ["config.json", "tokenizer.json"], "Fetch them from the same repository");
  const configFile = join(folder, "config.json");
  const shape = readJanusShape((await readJsonObject(configFile)) ?? {}, configFile);
  const opened = await SafetensorsSource.open(folder);
  try {
    const source = hasOriginalNames(opened) ? new OriginalJanusSource(opened) : opened;
    const copies = new Map((await existing(folder, KEPT)).map((path) => [basename(path), path]));
    const graphs = janusGraphs(source, shape, plan);
    return { architecture: "janus", plan, graphs, json: new Map(), copies, source };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** By file name without ending. The small ones come first: what does not fit in them is told soonest. */
export function janusGraphs(source: TensorSource, shape: JanusShape, plan: WeightPlan): Map<string, Graph> {
  const { text, vision, aligner, generation, vq } = shape;
  const { vocabularySize, width } = text;
  const embedding = "model.language_model.embed_tokens.weight";
  // A top-level tie_word_embeddings says nothing: newer versions of transformers write it for models that have both matrices.
  const head = source.tensors.has("lm_head.weight") ? "lm_head.weight" : embedding;
  const matrix = { vocabularySize, width, weights: plan };
  return new Map([
    ["openvino_gen_embeddings_model", generationEmbeddings(source, generation, plan)],
    ["openvino_gen_head_model", generationHead(source, generation, plan)],
    ["openvino_gen_decoder_model", vqDecoder(source, vq, plan)],
    ["openvino_gen_encoder_model", vqEncoder(source, vq, plan)],
    ["openvino_vision_embeddings_model", siglipGraph(source, { vision, aligner, weights: plan })],
    ["openvino_text_embeddings_model", embeddingGraph(source, { tensor: embedding, ...matrix })],
    ["openvino_lm_head_model", headGraph(source, { tensor: head, ...matrix })],
    [
      "openvino_language_model",
      llamaDecoder(source, text, {
        ...{ input: "embeddings", output: "hidden", weights: plan, prefix: "model.language_model" },
      }),
    ],
  ]);
}
