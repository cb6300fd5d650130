import type { Graph } from "../../ir/graph.js";
import type { WeightFormat, WeightPlan } from "../../ir/weights.js";
import type { TensorSource } from "../../read/tensor-source.js";

/** A folder with a checkpoint that can be converted. It passes between threads. */
export interface Checkpoint {
  /** Name of the {@link Architecture} that converts it. */
  architecture: string;
  format: "ctranslate2" | "safetensors";
  folder: string;
}

/** A kind of checkpoints that can be converted. */
export interface Architecture {
  /** For example `whisper`. */
  readonly name: string;
  /** What `config.json` has as `model_type`. */
  readonly modelTypes: readonly string[];
  /** What its matrices can be stored as. */
  readonly formats: readonly WeightFormat[];
  /** All files that a conversion is made of: if one changes, it must be made anew. @throws ModelError */
  files(checkpoint: Checkpoint): Promise<string[]>;
  /**
   * Checks a checkpoint and describes its conversion. The caller closes `source`.
   *
   * @throws ModelError naming what is missing, damaged, or does not fit together
   * @throws UnsupportedError for weights and variants that cannot be converted
   */
  prepare(checkpoint: Checkpoint, plan: WeightPlan): Promise<PreparedConversion>;
}

/** All that is to be written for a checkpoint, checked, but without its weights read. */
export interface PreparedConversion {
  /** For example `whisper`. */
  architecture: string;
  plan: WeightPlan;
  /** Graphs by file name without ending. */
  graphs: ReadonlyMap<string, Graph>;
  /** JSON files by name. */
  json: ReadonlyMap<string, unknown>;
  /** Files to be taken over, by name: path of the original. */
  copies: ReadonlyMap<string, string>;
  source: TensorSource;
  facts?: ConversionFacts;
}

/** What a program must know about a language model and its files do not tell. */
export interface ConversionFacts {
  /** Tokens that the graph is right for. */
  contextLength: number;
  /** Why the keys and values must be kept in the model's state; empty where any way of attention will do. */
  statefulReason: string;
  /** What a user may not expect; for `explain()`. */
  notes: string[];
}
