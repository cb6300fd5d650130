import { fileURLToPath } from "node:url";
import path from "node:path";

/** Root of the clone. */
export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

/** A path inside the clone. */
export function inRoot(...parts) {
  return path.join(root, ...parts);
}

export const runtimeDir = inRoot("native", "runtime");
export const addonFile = inRoot("native", "bin", "pergola.node");
export const modelsDir = inRoot("models");
export const cacheDir = inRoot(".cache");
