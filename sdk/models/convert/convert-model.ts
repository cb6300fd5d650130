import { readdir, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { z } from "zod";
import { throwIfAborted } from "../../core/abort.js";
import { ModelError, OptionError } from "../../core/errors.js";
import { callback, flag, signal } from "../../core/option-schemas.js";
import { parseOptions } from "../../core/validate.js";
import { modelPath } from "../model-path.js";
import { findWhisperFolder } from "../whisper-folder.js";
import { MANIFEST } from "./conversion.js";
import { runConversion } from "./run-conversion.js";
import type { WeightFormat } from "./weights.js";

/** Options of {@link convertModel}. */
export interface ConvertOptions {
  /** How matrices are stored: half precision, or whole numbers of 8 bits with one scale a row. Defaults to `f16`. */
  weights?: WeightFormat | undefined;
  /** Replaces an earlier conversion in the folder. Defaults to `false`. */
  overwrite?: boolean | undefined;
  /** Told the share of the weights that is written, from 0 to 1. */
  onProgress?: ((fraction: number) => void) | undefined;
  /** Ends the conversion; it rejects with the signal's reason and leaves no folder behind. */
  signal?: AbortSignal | undefined;
}

/** What {@link convertModel} has made. */
export interface ConversionResult {
  /** The folder, as an absolute path. */
  path: string;
  /** For example `whisper`. */
  architecture: string;
  weights: WeightFormat;
  /** Names of the files in the folder, in alphabetical order. */
  files: string[];
  /** Bytes of all files together. */
  bytes: number;
}

const schema = z.strictObject({
  weights: z.enum(["f16", "int8"]).describe('"f16" or "int8"').optional(),
  overwrite: flag.optional(),
  onProgress: callback<(fraction: number) => void>().optional(),
  signal: signal.optional(),
});

/**
 * Converts a checkpoint to OpenVINO IR, as optimum-intel would, without Python. Weights are read and written piece by piece.
 *
 * Whisper checkpoints can be converted: CTranslate2 folders (as faster-whisper has them) and Hugging Face folders with
 * safetensors.
 *
 * @param checkpoint - the folder
 * @param out - the folder to make; it must not exist yet, or be empty. It appears when it is complete
 * @throws OptionError for wrong arguments, or if `out` holds something
 * @throws ModelError if files are missing, damaged or do not fit together, or the folder cannot be written
 * @throws UnsupportedError for checkpoints that cannot be converted
 */
export async function convertModel(
  checkpoint: string | URL,
  out: string | URL,
  options: ConvertOptions = {},
): Promise<ConversionResult> {
  const { weights = "f16", overwrite = false, onProgress, signal } = parseOptions(schema, options);
  throwIfAborted(signal);
  const found = await findWhisperFolder(checkpoint);
  const { format, folder } = found;
  if (format === "openvino") {
    throw new ModelError(`${folder} is OpenVINO IR already. Pass the checkpoint it was made from.`, { file: folder });
  }
  const path = outPath(out, folder);
  await checkOut(path, overwrite);
  const request = { checkpoint: { format, folder }, weights, target: path, keepOther: false };
  const files = await runConversion(request, { signal, onProgress });
  let bytes = 0;
  for (const name of files) bytes += (await stat(join(path, name))).size;
  return { path, architecture: "whisper", weights, files: files.sort(), bytes };
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
    ? "It holds an earlier conversion; with the option overwrite it is replaced"
    : names
      ? "It is not empty, and what is in it was not made by a conversion"
      : "It is a file";
  throw new OptionError(`out must be a new or empty folder, received ${path}. ${remedy}.`, {
    ...{ path: "out", expected: "a new or empty folder", received: path },
  });
}
