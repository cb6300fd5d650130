import { stat } from "node:fs/promises";
import { join } from "node:path";
import { ModelError } from "../../core/errors.js";
import { problemOf } from "../file-check.js";
import { readJsonObject } from "../json-file.js";
import { generationEmbeddings, generationHead } from "./architectures/janus-generation.js";
import { readJanusShape, type JanusShape } from "./architectures/janus-shape.js";
import { llamaDecoder } from "./architectures/llama-decoder.js";
import { siglipGraph } from "./architectures/siglip.js";
import { embeddingGraph, headGraph } from "./architectures/token-graphs.js";
import { vqDecoder } from "./architectures/vq-decoder.js";
import { vqEncoder } from "./architectures/vq-encoder.js";
import type { PreparedConversion } from "./conversion.js";
import type { Graph } from "./graph.js";
import { hasOriginalNames, OriginalJanusSource } from "./janus-original.js";
import { findSafetensors, SafetensorsSource } from "./safetensors.js";
import type { TensorSource } from "./tensor-source.js";
import type { WeightPlan } from "./weights.js";

/** Files beside the weights that a conversion needs. */
const NEEDED = ["config.json", "tokenizer.json"];

/** Files that are taken over as they are where the checkpoint has them. */
const KEPT = [
  ...NEEDED,
  ...["generation_config.json", "preprocessor_config.json", "processor_config.json"],
  ...["tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"],
  ...["chat_template.jinja", "chat_template.json"],
];

/** All files that a conversion of a Janus checkpoint is made of. @throws ModelError naming what is missing */
export async function janusFiles(folder: string): Promise<string[]> {
  const { paths } = await findSafetensors(folder);
  return [...paths, ...(await keptFiles(folder)).values()];
}

/**
 * Checks a Janus checkpoint, in transformers' layout or in the original one, and describes its conversion into the files that
 * the OpenVINO notebook makes, and an encoder of pictures (`openvino_gen_encoder_model`) besides. The caller closes `source`.
 *
 * The plan is for the language model. Where it says 4 bits, all other matrices have 8; convolutions are f16 in every plan.
 *
 * @throws ModelError naming what is missing, damaged, or does not fit together
 * @throws UnsupportedError for weights and variants that cannot be converted
 */
export async function prepareJanus(folder: string, plan: WeightPlan): Promise<PreparedConversion> {
  await requireSmallFiles(folder);
  const configFile = join(folder, "config.json");
  const shape = readJanusShape((await readJsonObject(configFile)) ?? {}, configFile);
  const opened = await SafetensorsSource.open(folder);
  try {
    const source = hasOriginalNames(opened) ? new OriginalJanusSource(opened) : opened;
    return {
      ...{ architecture: "janus", weights: plan.format, json: new Map(), source },
      graphs: janusGraphs(source, shape, plan),
      copies: await keptFiles(folder),
    };
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

async function requireSmallFiles(folder: string): Promise<void> {
  const problems: string[] = [];
  let first = "";
  for (const name of NEEDED) {
    const problem = await problemOf(join(folder, name));
    if (!problem) continue;
    problems.push(`${name} (${problem})`);
    first ||= join(folder, name);
  }
  if (problems.length === 0) return;
  throw new ModelError(
    `The Janus checkpoint ${folder} is not complete: ${problems.join(", ")}. Fetch the files from the same repository.`,
    { file: first },
  );
}

async function keptFiles(folder: string): Promise<Map<string, string>> {
  const kept = new Map<string, string>();
  for (const name of KEPT) {
    const path = join(folder, name);
    if (await stat(path).catch(() => undefined)) kept.set(name, path);
  }
  return kept;
}
