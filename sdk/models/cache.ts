import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import envPaths from "env-paths";
import { makeFolder } from "./files/make-folder.js";

/** Where compiled models are kept. */
export interface CacheFolder {
  /** Absolute path; empty string = no cache. */
  folder: string;
  /** Why there is no cache although one was asked for. */
  warning?: string;
}

/**
 * Finds and makes the folder for compiled models. A folder that cannot be used turns the cache off: loading is slower then,
 * but works.
 *
 * @param option - the `cache` load option: `true` for the user's cache folder, a path, or `false`
 * @param override - `PERGOLA_CACHE`: another folder to use for `true`
 */
export async function resolveCache(
  option: boolean | string,
  override: string | undefined = process.env["PERGOLA_CACHE"],
): Promise<CacheFolder> {
  if (option === false) return { folder: "" };
  const chosen = typeof option === "string" ? option : override || defaultCacheFolder();
  const folder = chosen.startsWith("~/") ? join(homedir(), chosen.slice(2)) : resolve(chosen);
  try {
    await makeFolder(folder);
    await access(folder, constants.W_OK);
    return { folder };
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    return { folder: "", warning: `No compile cache: the folder ${folder} cannot be written (${reason}).` };
  }
}

/** The cache folder of this user on this system, for example `~/.cache/pergola`. */
export function defaultCacheFolder(): string {
  return envPaths("pergola", { suffix: "" }).cache;
}
