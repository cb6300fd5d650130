import { rename, rm, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { ModelError, PergolaError } from "../../../core/errors.js";
import { makeFolder } from "../../files/make-folder.js";
import { bytesToWrite, isComplete, isWorthKeeping, writeConversion } from "./conversion.js";
import type { PreparedConversion } from "../models/common/architecture.js";
import { PartialFolder } from "./partial-folder.js";

/** Beside the constants: graphs as text, tokenizer, configuration. */
const SMALL_FILES_BYTES = 64 * 2 ** 20;

/** What a conversion reports and what ends it. */
interface ConversionControl {
  signal?: AbortSignal | undefined;
  /** Told the share of the weights that is written, from 0 to 1. */
  onProgress?: ((fraction: number) => void) | undefined;
  /** Leaves a complete conversion alone that another process has put in the same place meanwhile. */
  keepOther?: boolean;
}

/**
 * Makes a folder with a conversion. It appears complete or not at all; a folder in its place is replaced. What an earlier
 * attempt has written is not made again.
 *
 * @param key - stands for the checkpoint's files and all that decides what is made of them
 * @param prepare - checks the checkpoint; its source is closed here
 * @returns the names of the files
 * @throws the signal's reason, ModelError, UnsupportedError
 */
export async function convertFolder(
  target: string,
  key: string,
  prepare: () => Promise<PreparedConversion>,
  control: ConversionControl,
): Promise<string[]> {
  const prepared = await prepare();
  let partial: PartialFolder | undefined;
  try {
    await makeFolder(dirname(target));
    partial = await PartialFolder.open(target, key);
    await requireSpace(partial.path, target, await bytesToWrite(prepared, partial.path));
    const names = await writeConversion(prepared, partial.path, control);
    await partial.finish((path) => replace(path, target, control.keepOther === true));
    return names;
  } catch (error) {
    if (partial && (await isWorthKeeping(prepared, partial.path))) await partial.leave();
    else await partial?.remove();
    throw asModelError(error, target);
  } finally {
    await prepared.source.close();
  }
}

/** @throws ModelError if a disk is too full for what is to be written */
async function requireSpace(folder: string, target: string, bytes: number): Promise<void> {
  // Some file systems do not tell.
  const disk = await statfs(folder).catch(() => undefined);
  if (!disk || disk.blocks === 0) return;
  const free = disk.bavail * disk.bsize;
  const needed = bytes + SMALL_FILES_BYTES;
  if (free >= needed) return;
  throw new ModelError(
    `The converted model needs ${gigabytes(needed)} in ${dirname(target)}, but only ${gigabytes(free)} are free there. ` +
      "Free some space, choose another folder (for a conversion on loading: the cache option or PERGOLA_CACHE), " +
      "or smaller weights (int8, int4).",
    { file: target },
  );
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(2)} GB`;
}

async function replace(partial: string, target: string, keepOther: boolean): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await rename(partial, target);
      return;
    } catch (error) {
      const inTheWay = ["ENOTEMPTY", "EEXIST", "ENOTDIR", "EPERM", "EACCES"].includes(
        (error as NodeJS.ErrnoException).code ?? "",
      );
      if (!inTheWay || attempt === 3 || !(await stat(target).catch(() => undefined))) throw error;
    }
    if (keepOther && (await isComplete(target))) {
      await rm(partial, { recursive: true, force: true });
      return;
    }
    // Moved away first: nobody may find a folder that is half removed.
    const old = PartialFolder.nameFor(target);
    await rename(target, old).catch(() => undefined);
    await rm(old, { recursive: true, force: true });
  }
}

/** A full disk and the like, in the SDK's terms. */
function asModelError(error: unknown, folder: string): unknown {
  if (PergolaError.isInstance(error) || typeof (error as NodeJS.ErrnoException | null)?.syscall !== "string")
    return error;
  const { message, code } = error as NodeJS.ErrnoException;
  const remedy =
    code === "ENOSPC"
      ? "Free some space, or choose another folder"
      : "Choose a folder that can be written (for a conversion on loading: the cache option or PERGOLA_CACHE)";
  return new ModelError(`The converted model cannot be written to ${folder}: ${message}. ${remedy}.`, {
    file: folder,
    cause: error,
  });
}
