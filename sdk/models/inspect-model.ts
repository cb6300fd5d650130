import { stat } from "node:fs/promises";
import { readModelFacts } from "./model-folder.js";
import { resolveModel } from "./resolve.js";

/** What the files of a model tell, without loading it. */
export interface ModelInspection {
  format: "ir" | "gguf";
  /** The files that hold the model, as absolute paths. */
  files: string[];
  /** Bytes of weights: the `.bin` file, or the tensors of a GGUF model. */
  weightBytes: number;
  /** `model_type` of the configuration, or the GGUF architecture; empty if neither is told. */
  architecture: string;
  /** Tokens the model was made for; 0 = not told. */
  contextLength: number;
}

/**
 * Checks that a language model's files are there and complete, and tells what they say. Needs no native core.
 *
 * @param model - as for `LLMPipeline.load`
 * @throws OptionError, ModelError, UnsupportedError
 */
export async function inspectModel(model: string | URL): Promise<ModelInspection> {
  const source = await resolveModel(model);
  const { architecture, contextLength } = await readModelFacts(source);
  if (source.kind === "gguf") {
    const { files, tensors } = source.gguf;
    const weightBytes = tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
    return { format: "gguf", files, weightBytes, architecture, contextLength };
  }
  const { size } = await stat(source.bin);
  return { format: "ir", files: [source.xml, source.bin], weightBytes: size, architecture, contextLength };
}
