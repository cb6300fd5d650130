import { stat } from "node:fs/promises";
import { join } from "node:path";
import { ModelError } from "../../../core/errors.js";
import { problemOf } from "../../files/file-check.js";

/** Paths of those files that a folder has. */
export async function existing(folder: string, names: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const name of names) {
    const path = join(folder, name);
    if (await stat(path).catch(() => undefined)) found.push(path);
  }
  return found;
}

/**
 * Checks that files of a checkpoint are there and can be read.
 *
 * @param remedy - what to do, as a sentence without its full stop
 * @throws ModelError naming all that are not
 */
export async function requireFiles(folder: string, names: readonly string[], remedy: string): Promise<void> {
  const problems: string[] = [];
  let first = "";
  for (const name of names) {
    const problem = await problemOf(join(folder, name));
    if (!problem) continue;
    problems.push(`${name} (${problem})`);
    first ||= join(folder, name);
  }
  if (problems.length === 0) return;
  throw new ModelError(`The checkpoint ${folder} is not complete: ${problems.join(", ")}. ${remedy}.`, { file: first });
}
