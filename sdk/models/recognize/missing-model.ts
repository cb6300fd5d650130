import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { ModelError, UnsupportedError, type PergolaError } from "../../core/errors.js";
import { problemOf } from "../files/file-check.js";

/**
 * The error for a model path at which there is nothing.
 *
 * @param given - what the caller passed: it may be a hub id
 * @param content - what the folder must hold, for example `an OpenVINO model or a .gguf file`
 */
export async function missingModel(given: string, path: string, content: string): Promise<PergolaError> {
  const problem = await problemOf(path);
  if (problem !== "missing") return new ModelError(`The model ${path} is ${problem}.`, { file: path });
  const hubId = /^[\w-][\w.-]*\/[\w-][\w.-]*(@[\w./-]+)?$/.test(given) && !given.endsWith(".gguf");
  // "models/name" with a folder "models" beside it is a path with a typing error rather than a hub id.
  const parentExists = hubId && (await stat(dirname(path)).catch(() => undefined))?.isDirectory();
  if (hubId && !parentExists) {
    return new UnsupportedError(
      `There is no file or folder ${path}. If "${given}" is a hub id: this version does not download models. ` +
        `Fetch it yourself (hf download ${given.split("@")[0]} --local-dir <folder>) and pass the folder, ` +
        `which must hold ${content}.`,
      { subject: "download from the hub" },
    );
  }
  return new ModelError(`There is no model at ${path}: no such file or folder.`, { file: path });
}
