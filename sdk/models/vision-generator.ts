import { engineOptions, type ResolvedLoadOptions } from "../core/load-options.js";
import type { NativeGeneratorOptions } from "../core/native-types.js";
import type { VisionModelSource } from "./vision-model.js";

/** Graphs of the language model of a vision model, whatever it generates. */
export const LANGUAGE_GRAPHS = {
  decoder: "openvino_language_model",
  embeddings: "openvino_text_embeddings_model",
};

/** Options for the engine to open the language model of a vision model, the same in all pipelines, so that they share it. */
export function visionGeneratorOptions(
  source: VisionModelSource,
  options: Omit<ResolvedLoadOptions, "weights">,
  cacheDir: string,
  heads: Pick<NativeGeneratorOptions, "generatedEmbeddings" | "head">,
): NativeGeneratorOptions {
  const { xml, bin, modelKey } = source.graph(LANGUAGE_GRAPHS.decoder);
  return {
    source: { kind: "ir", xml, bin },
    embeddings: source.graph(LANGUAGE_GRAPHS.embeddings),
    ...heads,
    ...engineOptions(options),
    // Checkpoints are rounded when they are converted.
    weights: "file",
    contextLength: source.contextLength,
    cacheDir,
    modelKey,
  };
}
