import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CONVERTER_VERSION, isComplete } from "./convert/conversion.js";
import type { ConversionRequest } from "./convert/conversion-worker.js";
import { runConversion, type ConversionHooks } from "./convert/run-conversion.js";
import { keyOfFiles } from "./file-key.js";

/**
 * The folder with a checkpoint's conversion, which is made the first time.
 *
 * @param request - the checkpoint, and all that decides what a conversion of it holds
 * @param files - all files that the conversion is made of: if one changes, it is made anew
 * @param cacheFolder - keeps conversions; empty = a temporary folder, removed when the process ends
 * @throws the signal's reason, ModelError, UnsupportedError
 */
export async function cachedConversion(
  request: Omit<ConversionRequest, "target" | "keepOther">,
  files: readonly string[],
  { cacheFolder, signal, onProgress }: ConversionHooks & { cacheFolder: string },
): Promise<string> {
  const how = JSON.stringify({ ...request, checkpoint: undefined });
  const key = await keyOfFiles(files, how, `converter ${CONVERTER_VERSION}`);
  const parent = cacheFolder === "" ? temporaryFolder() : join(cacheFolder, "converted");
  const target = join(parent, key);
  if (!(await isComplete(target))) await runConversion({ ...request, target, keepOther: true }, { signal, onProgress });
  onProgress?.(1);
  return target;
}

let temporary: string | undefined;

/** One a process. The runtime maps the files while a model is open, so they stay until the process ends. */
function temporaryFolder(): string {
  if (temporary !== undefined) return temporary;
  const folder = mkdtempSync(join(tmpdir(), "pergola-converted-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  temporary = folder;
  return folder;
}
