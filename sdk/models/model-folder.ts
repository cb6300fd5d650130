import { join } from "node:path";
import { readManifest } from "./convert/run/conversion.js";
import { keyOfFiles } from "./files/file-key.js";
import type { GgufFile } from "./gguf/gguf-file.js";
import { checkGgufSupport } from "./gguf/gguf-support.js";
import { readJsonObject } from "./files/json-file.js";
import type { ModelSource } from "./resolve.js";

/** What the files beside the weights say about a language model. */
export interface ModelFacts {
  /** `model_type` or the GGUF architecture; empty if neither is told. */
  architecture: string;
  /** Tokens the model was made for; 0 = not told. */
  contextLength: number;
  /** Tokens that end an answer, as the configuration names them (the tokenizer may know more). */
  eosTokenIds: number[];
  /** `generation_config.json`; empty for GGUF and where there is none. */
  generationConfig: Record<string, unknown>;
  /** Why the keys and values must be kept in the model's state; empty where any way of attention will do. */
  statefulReason: string;
  /** What a user may not expect; for `explain()`. */
  notes: string[];
  /** Changes whenever a model file does: made of paths, sizes and times of change. */
  modelKey: string;
}

/** Names that configurations use for the context length, most telling first. */
const CONTEXT_NAMES = ["max_position_embeddings", "n_positions", "max_sequence_length", "seq_length", "n_ctx"];

/** Parts of a configuration that describe the language model of a composed one. */
const TEXT_PARTS = ["text_config", "language_config", "llm_config"];

/**
 * Reads what the runtime needs to know about a model.
 *
 * @throws ModelError naming a file that is not valid
 * @throws UnsupportedError for a GGUF whose architecture or tensor types the runtime cannot compute
 */
export async function readModelFacts(source: ModelSource): Promise<ModelFacts> {
  if (source.kind === "gguf") {
    return { ...factsOfGguf(source.gguf), generationConfig: {}, modelKey: await keyOfFiles(source.gguf.files) };
  }
  const config = (await readJsonObject(join(source.path, "config.json"))) ?? {};
  const generationConfig = (await readJsonObject(join(source.path, "generation_config.json"))) ?? {};
  // What the converter found out about a model that it converted.
  const facts = (await readManifest(source.path))?.facts;
  return {
    architecture: typeof config["model_type"] === "string" ? config["model_type"] : "",
    contextLength: facts?.contextLength || contextLengthOf(config),
    eosTokenIds: eosTokenIdsOf(config, generationConfig),
    generationConfig,
    statefulReason: facts?.statefulReason ?? "",
    notes: facts?.notes ?? [],
    modelKey: await keyOfFiles([source.xml, source.bin]),
  };
}

function factsOfGguf(gguf: GgufFile): Omit<ModelFacts, "generationConfig" | "modelKey"> {
  const { metadata } = gguf;
  const architecture = metadata.string("general.architecture") ?? "";
  const { contextLimit, statefulReason, notes } = checkGgufSupport(gguf);
  return {
    architecture,
    contextLength: contextLimit || (metadata.number(`${architecture}.context_length`) ?? 0),
    eosTokenIds: ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"].flatMap(
      (key) => idsOf(metadata.number(key)),
    ),
    statefulReason,
    notes,
  };
}

/** Tokens that end an answer by `config.json` and `generation_config.json`. */
export function eosTokenIdsOf(config: Record<string, unknown>, generationConfig: Record<string, unknown>): number[] {
  return [...new Set([...idsOf(generationConfig["eos_token_id"]), ...idsOf(inText(config, "eos_token_id"))])];
}

/** Tokens that a model was made for by its `config.json`; 0 = not told. */
export function contextLengthOf(config: Record<string, unknown>): number {
  for (const name of CONTEXT_NAMES) {
    const value = inText(config, name);
    if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
  }
  return 0;
}

function inText(config: Record<string, unknown>, name: string): unknown {
  if (config[name] !== undefined) return config[name];
  for (const part of TEXT_PARTS) {
    const inner = config[part];
    if (typeof inner === "object" && inner !== null && name in inner) return (inner as Record<string, unknown>)[name];
  }
  return undefined;
}

/** `eos_token_id` is a number, a list of numbers, or null. */
function idsOf(value: unknown): number[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter((id): id is number => Number.isSafeInteger(id) && id >= 0);
}
