import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Checkpoint } from "./convert/models/common/architecture.js";
import { architectureNamed } from "./convert/models/architectures.js";
import { bytesOf, elementCount } from "./convert/read/element-type.js";
import { CHECKPOINTS, type PipelineName } from "./recognize/kinds.js";
import { recognize } from "./recognize/recognize.js";
import { readJsonObject } from "./files/json-file.js";
import { contextLengthOf, readModelFacts } from "./model-folder.js";
import { resolveModel } from "./resolve.js";
import { resolveVisionModel, type VisionModelSource } from "./vision-model.js";
import { resolveWhisperModel } from "./whisper-model.js";

/** What the files of a model tell, without loading it. */
export interface ModelInspection {
  /** OpenVINO IR and GGUF are used as they are; checkpoints are converted when they are loaded. */
  format: "ir" | "gguf" | "safetensors" | "ctranslate2";
  /** What can be done with it. */
  pipelines: PipelineName[];
  /** The files that hold the model, as absolute paths. */
  files: string[];
  /** Bytes of weights: the `.bin` files, or the tensors of a GGUF model or a checkpoint. */
  weightBytes: number;
  /** `model_type` of the configuration, or the GGUF architecture; empty if neither is told. */
  architecture: string;
  /** Tokens the model was made for; 0 = not told. */
  contextLength: number;
}

const VISION_GRAPH = /^openvino_(language|text_embeddings|vision_embeddings|lm_head|gen_\w+)_model\.(xml|bin)$/;

/** Values of `model_type` that `VLMPipeline` knows; its own list says how each of them works. */
export const VISION_FAMILIES: readonly string[] = ["janus", "llava"];

/** Graphs that a pipeline cannot do without. */
const LANGUAGE_GRAPHS = ["openvino_language_model", "openvino_text_embeddings_model"];
const UNDERSTANDING_GRAPHS = [...LANGUAGE_GRAPHS, "openvino_vision_embeddings_model"];
const IMAGE_GRAPHS = [
  ...LANGUAGE_GRAPHS,
  ...["openvino_gen_embeddings_model", "openvino_gen_head_model", "openvino_gen_decoder_model"],
];

/**
 * Checks that a model's files are there and complete, and tells what they say. Nothing is converted; needs no native core.
 *
 * @param model - as for the `load` of any pipeline
 * @throws OptionError, ModelError, UnsupportedError
 */
export async function inspectModel(model: string | URL): Promise<ModelInspection> {
  const { sightings } = await recognize(model, "a model in OpenVINO IR, a GGUF model or a checkpoint");
  const { loadedBy, checkpoint } = sightings[0]!;
  if (checkpoint) return inspectCheckpoint(checkpoint);
  if (loadedBy.includes("VLMPipeline")) return inspectVision(model);
  if (loadedBy.includes("WhisperPipeline")) return inspectWhisper(model);
  return inspectLanguageModel(model);
}

async function inspectLanguageModel(model: string | URL): Promise<ModelInspection> {
  const source = await resolveModel(model);
  const { architecture, contextLength } = await readModelFacts(source);
  const told = { pipelines: ["LLMPipeline" as const], architecture, contextLength };
  if (source.kind === "gguf") {
    const { files, tensors } = source.gguf;
    return {
      format: "gguf",
      ...told,
      files,
      weightBytes: tensors.reduce((sum, { byteLength }) => sum + byteLength, 0),
    };
  }
  return { format: "ir", ...told, files: [source.xml, source.bin], weightBytes: await sizeOf([source.bin]) };
}

async function inspectVision(model: string | URL): Promise<ModelInspection> {
  const source = await resolveVisionModel(model, { cacheFolder: "", needs: LANGUAGE_GRAPHS });
  const names = (await readdir(source.folder)).filter((name) => VISION_GRAPH.test(name) && name.endsWith(".xml"));
  const graphs = names.toSorted().map((name) => source.graph(name.slice(0, -".xml".length)));
  return {
    format: "ir",
    pipelines: pipelinesOf(source),
    files: graphs.flatMap(({ xml, bin }) => [xml, bin]),
    weightBytes: await sizeOf(graphs.map(({ bin }) => bin)),
    architecture: source.family,
    contextLength: source.contextLength,
  };
}

function pipelinesOf(source: VisionModelSource): PipelineName[] {
  const { family } = source;
  const has = (name: string): boolean => source.has(name);
  const understanding = family === "janus" ? [...UNDERSTANDING_GRAPHS, "openvino_lm_head_model"] : UNDERSTANDING_GRAPHS;
  return [
    ...(VISION_FAMILIES.includes(family) && understanding.every(has) ? (["VLMPipeline"] as const) : []),
    ...(family === "janus" && IMAGE_GRAPHS.every(has) ? (["ImagePipeline"] as const) : []),
  ];
}

async function inspectWhisper(model: string | URL): Promise<ModelInspection> {
  const { encoder, decoder, config } = await resolveWhisperModel(model, { cacheFolder: "" });
  return {
    format: "ir",
    pipelines: ["WhisperPipeline"],
    files: [encoder.xml, encoder.bin, decoder.xml, decoder.bin],
    weightBytes: await sizeOf([encoder.bin, decoder.bin]),
    architecture: "whisper",
    contextLength: decoderPositions(config),
  };
}

/** Checks all tensors of a checkpoint against its configuration, as a conversion would begin. */
async function inspectCheckpoint(checkpoint: Checkpoint): Promise<ModelInspection> {
  const { source } = await architectureNamed(checkpoint.architecture).prepare(checkpoint, { format: "f16" });
  try {
    const tensors = [...source.tensors.values()];
    const config = (await readJsonObject(join(checkpoint.folder, "config.json"))) ?? {};
    const isWhisper = checkpoint.architecture === "whisper";
    const type = config["model_type"];
    return {
      format: checkpoint.format,
      pipelines: [...(CHECKPOINTS[checkpoint.architecture]?.loadedBy ?? [])],
      files: [...new Set(tensors.map(({ file }) => file))].toSorted(),
      weightBytes: tensors.reduce(
        (sum, { shape, type: kind }) => sum + Math.ceil(elementCount(shape) * bytesOf(kind)),
        0,
      ),
      architecture: isWhisper || typeof type !== "string" ? checkpoint.architecture : type,
      contextLength: isWhisper ? decoderPositions(config) : contextLengthOf(config),
    };
  } finally {
    await source.close();
  }
}

function decoderPositions(config: Record<string, unknown>): number {
  const positions = config["max_target_positions"];
  return typeof positions === "number" ? positions : 0;
}

async function sizeOf(files: readonly string[]): Promise<number> {
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
