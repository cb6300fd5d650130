import { stat } from "node:fs/promises";
import { readModelFacts } from "../models/model-folder.js";
import { resolveModel, type ModelSource } from "../models/resolve.js";
import { Tokenizer } from "../text/tokenizer.js";

/** What a language model's files say about it, without loading it. */
export interface ModelReport {
  format: "ir" | "gguf";
  /** Absolute paths of the files that hold the network and its weights. */
  files: string[];
  /** Size of the files that hold the weights. */
  weightBytes: number;
  /** `model_type` or the GGUF architecture; empty if neither is told. */
  architecture: string;
  /** Tokens the model was made for; 0 = not told. */
  contextLength: number;
}

/**
 * Finds and checks a language model's files as `LLMPipeline.load` does, tokenizer included, without loading the weights.
 *
 * @param model - as for `LLMPipeline.load`
 * @throws ModelError naming everything that is missing
 * @throws UnsupportedError for what this version cannot load
 */
export async function inspectModel(model: string): Promise<ModelReport> {
  const source = await resolveModel(model);
  const { architecture, contextLength } = await readModelFacts(source);
  const tokenizer = await readTokenizer(source);
  await tokenizer.dispose();
  const weightFiles = source.kind === "ir" ? [source.bin] : source.gguf.files;
  const sizes = await Promise.all(weightFiles.map(async (file) => (await stat(file)).size));
  return {
    format: source.kind,
    files: source.kind === "ir" ? [source.xml, source.bin] : [...source.gguf.files],
    weightBytes: sizes.reduce((sum, size) => sum + size, 0),
    architecture,
    contextLength,
  };
}

function readTokenizer(source: ModelSource): Promise<Tokenizer> {
  return source.kind === "gguf" ? Tokenizer.fromGguf(source.gguf) : Tokenizer.fromFolder(source.path);
}
