import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { architectureNamed } from "./models/architectures.js";
import { checkPlan } from "./check-plan.js";
import { isComplete, conversionKey } from "./run/conversion.js";
import type { ConversionRequest } from "./run/conversion-worker.js";
import { runConversion, type ConversionHooks } from "./run/run-conversion.js";

/**
 * The folder with a checkpoint's conversion, which is made the first time.
 *
 * @param request - the checkpoint, and how its weights are stored; if one of its files changes, it is converted anew
 * @param cacheFolder - keeps conversions; empty = a temporary folder, removed when the process ends
 * @throws the signal's reason, OptionError if weights cannot be stored like that, ModelError, UnsupportedError
 */
export async function cachedConversion(
  request: Omit<ConversionRequest, "target" | "keepOther">,
  { cacheFolder, signal, onProgress }: ConversionHooks & { cacheFolder: string },
): Promise<string> {
  checkPlan(request.plan, architectureNamed(request.checkpoint.architecture));
  const key = await conversionKey(request.checkpoint, request.plan);
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
