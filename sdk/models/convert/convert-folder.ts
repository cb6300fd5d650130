import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { makeFolder } from "../cache.js";
import { asModelError, isComplete, writeConversion, type PreparedConversion } from "./conversion.js";

/** Folders under construction; a program that was killed leaves them behind. */
const PARTIAL = ".partial-";
const STALE_MS = 24 * 3600 * 1000;

/** What a conversion reports and what ends it. */
export interface ConversionControl {
  signal?: AbortSignal | undefined;
  /** Told the share of the weights that is written, from 0 to 1. */
  onProgress?: ((fraction: number) => void) | undefined;
  /** Leaves a complete conversion alone that another process has put in the same place meanwhile. */
  keepOther?: boolean;
}

/**
 * Makes a folder with a conversion. It appears complete or not at all; a folder in its place is replaced.
 *
 * @param prepare - checks the checkpoint; its source is closed here
 * @returns the names of the files
 * @throws the signal's reason, ModelError, UnsupportedError
 */
export async function convertFolder(
  target: string,
  prepare: () => Promise<PreparedConversion>,
  control: ConversionControl,
): Promise<string[]> {
  const prepared = await prepare();
  const partial = partialName(target);
  try {
    await makeFolder(dirname(target));
    await removeStale(dirname(target));
    await mkdir(partial);
    const names = await writeConversion(prepared, partial, control);
    await replace(partial, target, control.keepOther === true);
    return names;
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw asModelError(error, target);
  } finally {
    await prepared.source.close();
  }
}

function partialName(target: string): string {
  return join(dirname(target), `${PARTIAL}${basename(target)}-${process.pid}-${randomBytes(4).toString("hex")}`);
}

async function replace(partial: string, target: string, keepOther: boolean): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await rename(partial, target);
      return;
    } catch (error) {
      const inTheWay = ["ENOTEMPTY", "EEXIST", "ENOTDIR", "EPERM", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "");
      if (!inTheWay || attempt === 3 || !(await stat(target).catch(() => undefined))) throw error;
    }
    if (keepOther && (await isComplete(target))) {
      await rm(partial, { recursive: true, force: true });
      return;
    }
    // Moved away first: nobody may find a folder that is half removed.
    const old = partialName(target);
    await rename(target, old).catch(() => undefined);
    await rm(old, { recursive: true, force: true });
  }
}

async function removeStale(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(PARTIAL)) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found && Date.now() - found.mtimeMs > STALE_MS) await rm(path, { recursive: true, force: true });
  }
}
