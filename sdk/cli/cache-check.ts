import { constants } from "node:fs";
import { access, readdir, stat } from "node:fs/promises";
import path from "node:path";
import { formatBytes } from "./table.js";

/** Outcome of one check. */
export interface Check {
  name: string;
  /** `note`: works, but slower or with less than it could have. */
  status: "ok" | "note" | "problem";
  details: string;
}

async function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** The nearest folder above that exists: where the cache folder would be made. */
async function nearestExisting(folder: string): Promise<string> {
  const stats = await stat(folder).catch(() => undefined);
  return stats || path.dirname(folder) === folder ? folder : nearestExisting(path.dirname(folder));
}

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(async (entry) => (await stat(path.join(entry.parentPath, entry.name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Checks the folder for compiled models. Without it loading works, only slower. */
export async function checkCacheFolder(standard: string): Promise<Check> {
  const folder = process.env["PERGOLA_CACHE"] || standard;
  const existing = await nearestExisting(folder);
  if (!(await isWritable(existing))) {
    return {
      name: "Cache",
      status: "note",
      details: `${folder} cannot be written: every load compiles the model again`,
    };
  }
  const size = existing === folder ? formatBytes(await sizeOf(folder)) : "empty";
  return { name: "Cache", status: "ok", details: `${folder} (${size})` };
}
