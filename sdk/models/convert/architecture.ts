import type { PreparedConversion } from "./conversion.js";
import type { WeightFormat, WeightPlan } from "./weights.js";

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
