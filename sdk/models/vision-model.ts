import type { NativeGraphFiles } from "../core/native-types.js";

/** A vision-language or image model, found, checked and, where it was a checkpoint, converted. */
export interface VisionModelSource {
  /** What was given, as an absolute path. */
  path: string;
  /** Holds the graphs, the configuration files and the tokenizer. */
  folder: string;
  /** `model_type` of `config.json`; `"janus"` for both of Janus's layouts. */
  family: string;
  /** What the path given holds. */
  format: "openvino" | "safetensors";
  /** `config.json`; like the other three `{}` where there is no such file. */
  config: Record<string, unknown>;
  /** `generation_config.json`. */
  generationConfig: Record<string, unknown>;
  /** `preprocessor_config.json`. */
  preprocessorConfig: Record<string, unknown>;
  /** `processor_config.json`. */
  processorConfig: Record<string, unknown>;
  /** Tokens the language model was made for; 0 = not told. */
  contextLength: number;
  /** Tokens that end an answer, as the configuration names them (the tokenizer may know more). */
  eosTokenIds: number[];
  /** True if the folder has the graph, complete. @param name - without ending, for example `openvino_lm_head_model` */
  has(name: string): boolean;
  /** The files of a graph. @throws ModelError naming the file that is missing */
  graph(name: string): NativeGraphFiles;
}

export interface ResolveVisionOptions {
  /** How a checkpoint's matrices are stored. Defaults to `f16`. */
  weights?: "f16" | "int8" | "int4" | undefined;
  /** Values that share a scale in int4. */
  groupSize?: number | undefined;
  /** Keeps conversions; empty = a temporary folder, removed when the process ends. */
  cacheFolder: string;
  /** Graphs that must be there, by name without ending. */
  needs?: readonly string[] | undefined;
  signal?: AbortSignal | undefined;
  /** Told how far a conversion is, from 0 to 1. */
  onProgress?: ((fraction: number) => void) | undefined;
}

/**
 * Finds the files of a vision-language or image model: a folder with OpenVINO IR (as optimum-intel, the OpenVINO notebooks
 * or `pergola convert` write it), or a Janus checkpoint (safetensors), which is converted the first time.
 *
 * @throws OptionError if the argument cannot be a path, or `weights` is asked for where nothing is converted
 * @throws ModelError naming what is missing, damaged, or does not fit together
 * @throws UnsupportedError for hub ids and for checkpoints that cannot be converted
 * @throws the signal's reason
 */
export async function resolveVisionModel(model: unknown, options: ResolveVisionOptions): Promise<VisionModelSource> {
  throw new Error(`${String(model)}: not there yet ${options.cacheFolder}`);
}
