import { readFile } from "node:fs/promises";
import { ModelError } from "../core/errors.js";

/**
 * Reads a JSON file of a model folder.
 *
 * @returns `undefined` if there is no such file
 * @throws ModelError naming the file if it cannot be read, is not JSON, or is not an object
 */
export async function readJsonObject(file: string): Promise<Record<string, unknown> | undefined> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new ModelError(`${file} cannot be read: ${(cause as Error).message}.`, { file, cause });
  }
  let value: unknown;
  try {
    // Some tools write a byte order mark.
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (cause) {
    throw new ModelError(`${file} is not valid JSON: ${(cause as Error).message}. Fetch the file again.`, {
      file,
      cause,
    });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ModelError(`${file} must hold a JSON object.`, { file });
  }
  return value as Record<string, unknown>;
}
