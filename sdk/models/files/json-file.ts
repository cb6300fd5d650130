import { readFile } from "node:fs/promises";
import { ModelError } from "../../core/errors.js";

/** The content of a configuration file, or a part of it. */
export type Json = Record<string, unknown>;

/** Sizes of real models are far below; without a limit, absurd ones would exhaust the memory. */
const LIMIT = 2 ** 24;

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

/** A part of a configuration; empty where there is none. */
export function section(config: Json, name: string): Json {
  const value = config[name];
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

/**
 * A size from a configuration.
 *
 * @param name - what the message calls it, for example `vision_config.hidden_size`; its last part is the key
 * @param fallback - for a value that is not told
 * @throws ModelError naming the file for anything that is no positive whole number
 */
export function positiveInteger(config: Json, name: string, file: string, fallback?: number): number {
  const given = config[name.slice(name.lastIndexOf(".") + 1)];
  const value = given ?? fallback;
  if (typeof value === "number" && Number.isSafeInteger(value) && value > 0 && value < LIMIT) return value;
  const range = typeof given === "number" && given >= LIMIT ? ` below ${LIMIT}` : "";
  throw new ModelError(`${file}: "${name}" must be a positive whole number${range}, found ${JSON.stringify(given)}.`, {
    file,
  });
}
