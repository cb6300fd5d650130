import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { ModelError } from "../../core/errors.js";
import { problemOf } from "../files/file-check.js";
import { missingModel } from "./missing-model.js";
import { modelPath } from "../files/model-path.js";

/**
 * The folder of the model that a path leads to. A file stands for its folder.
 *
 * @param wanted - what the folder must hold, for messages
 * @param refuseFile - throws where a file shows that the model is of a kind that cannot be used
 * @throws OptionError if the argument cannot be a path
 * @throws ModelError if there is nothing, or nothing that can be read
 * @throws UnsupportedError for hub ids
 */
export async function pointedFolder(
  model: unknown,
  wanted: string,
  refuseFile: (path: string) => Promise<void>,
): Promise<string> {
  const path = modelPath(model);
  const found = await stat(path).catch(() => undefined);
  if (!found) throw await missingModel(String(model), path, wanted);
  if (found.isDirectory()) return path;
  if (!found.isFile()) throw new ModelError(`${path} is neither a file nor a folder.`, { file: path });
  const problem = await problemOf(path);
  if (problem !== undefined) throw new ModelError(`The model file ${path} is ${problem}.`, { file: path });
  await refuseFile(path);
  return dirname(path);
}
