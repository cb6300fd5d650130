import { readdir, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { z } from "zod";
import { throwIfAborted } from "../core/abort.js";
import { OptionError } from "../core/errors.js";
import { callback, flag, signal } from "../core/option-schemas.js";
import { parseOptions } from "../core/validate.js";
import {
  groupSizeField,
  storedFormat,
  weightsField,
  type GroupSize,
  type WeightFormat,
  type WeightsOption,
} from "../core/weight-options.js";
import { modelPath } from "./files/model-path.js";
import { architectureNamed } from "./convert/models/architectures.js";
import { checkPlan } from "./convert/check-plan.js";
import { MANIFEST, readManifest } from "./convert/run/conversion.js";
import { findCheckpoint } from "./recognize/find-checkpoint.js";
import { runConversion } from "./convert/run/run-conversion.js";
import { DEFAULT_GROUP_SIZE } from "./convert/ir/weights.js";

/** Options of {@link convertModel}. */
export interface ConvertOptions {
  /**
   * How matrices are stored: half precision (`f16`, also `file`), whole numbers of 8 bits with one scale a row, or whole numbers of
   * 4 bits with one scale a group of values (embedding and last layer have 8 bits then). Defaults to `file`.
   */
  weights?: WeightsOption | undefined;
  /** For `int4`: values that share a scale. Smaller groups are more exact and take more room; -1 = a whole row. Defaults to 64. */
  groupSize?: GroupSize | undefined;
  /** Replaces an earlier conversion in the folder. Defaults to `false`. */
  overwrite?: boolean | undefined;
  /** Told how far the conversion is; an exception it throws ends it. */
  onProgress?: ((progress: ConversionProgress) => void) | undefined;
  /**
   * Ends the conversion; it rejects with the signal's reason, and `out` does not appear. The same call later goes on where this
   * one was; what it had made lies beside `out` until then, for a day at least.
   */
  signal?: AbortSignal | undefined;
}

/** How far a conversion is. */
export interface ConversionProgress {
  /** Share of the weights that is written, from 0 to 1. */
  fraction: number;
}

/** What {@link convertModel} has made. */
export interface ConversionResult {
  /** The folder, as an absolute path. */
  path: string;
  /** For example `whisper`, `llama` or `qwen3`. */
  architecture: string;
  weights: WeightFormat;
  /** Where `weights` is `int4`. */
  groupSize?: number;
  /** Names of the files in the folder, in alphabetical order. */
  files: string[];
  /** Bytes of all files together. */
  bytes: number;
}

const schema = z.strictObject({
  weights: weightsField.optional(),
  groupSize: groupSizeField.optional(),
  overwrite: flag.optional(),
  onProgress: callback<(progress: ConversionProgress) => void>().optional(),
  signal: signal.optional(),
});

/**
 * Converts a checkpoint to OpenVINO IR, as optimum-intel would, without Python. Weights are read and written piece by piece.
 *
 * Language models of the Llama family (Llama, Qwen2, Qwen3, Mistral, SmolLM2, Phi-3, Gemma 2), Janus and Whisper can be
 * converted: Hugging Face folders with safetensors, and CTranslate2 folders of Whisper (as faster-whisper has them).
 *
 * @param model - the folder of the checkpoint
 * @param out - the folder to make; it must not exist yet, or be empty. It appears when it is complete
 * @throws OptionError for wrong arguments, or if `out` holds something
 * @throws ModelError if files are missing, damaged or do not fit together, or the folder cannot be written
 * @throws UnsupportedError for checkpoints that cannot be converted
 */
export async function convertModel(
  model: string | URL,
  out: string | URL,
  options: ConvertOptions = {},
): Promise<ConversionResult> {
  const { groupSize, overwrite = false, onProgress, signal, ...given } = parseOptions(schema, options);
  const weights = storedFormat(given.weights);
  throwIfAborted(signal);
  const checkpoint = await findCheckpoint(model);
  const plan = { format: weights, groupSize };
  checkPlan(plan, architectureNamed(checkpoint.architecture));
  const path = outPath(out, checkpoint.folder);
  await checkOut(path, overwrite);
  const request = { checkpoint, plan, target: path, keepOther: false };
  const files = await runConversion(request, {
    signal,
    onProgress: onProgress && ((fraction) => onProgress({ fraction })),
  });
  const architecture = (await readManifest(path))?.architecture ?? checkpoint.architecture;
  let bytes = 0;
  for (const name of files) bytes += (await stat(join(path, name))).size;
  return {
    ...{ path, architecture, weights, ...(weights === "int4" && { groupSize: groupSize ?? DEFAULT_GROUP_SIZE }) },
    ...{ files: files.sort(), bytes },
  };
}

function outPath(out: unknown, checkpoint: string): string {
  const path = modelPath(out, "out", "the path of a folder to make (a string, or a file: URL)");
  // Replacing the folder would remove the checkpoint with it.
  if (!relative(path, checkpoint).startsWith("..")) {
    throw new OptionError(`out must be another folder than the checkpoint's, received ${path}.`, {
      ...{ path: "out", expected: "a folder outside the checkpoint's", received: out },
    });
  }
  return path;
}

async function checkOut(path: string, overwrite: boolean): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (!found) return;
  const names = found.isDirectory() ? await readdir(path) : undefined;
  if (names?.length === 0) return;
  const earlier = names?.includes(MANIFEST) === true;
  if (earlier && overwrite) return;
  const remedy = earlier
    ? "It holds an earlier conversion, which the option overwrite (--overwrite) replaces"
    : names
      ? "It is not empty, and what is in it was not made by a conversion"
      : "It is a file";
  throw new OptionError(`out must be a new or empty folder, received ${path}. ${remedy}.`, {
    ...{ path: "out", expected: "a new or empty folder", received: path },
  });
}
