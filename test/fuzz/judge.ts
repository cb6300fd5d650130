import { PergolaError } from "../../sdk/core/errors.js";
import type { Target } from "./targets.js";

/** Reads an input. @returns what is wrong with how that ended; undefined for a result or a typed error */
export async function judge(target: Target, bytes: Uint8Array): Promise<string | undefined> {
  try {
    await target.read(bytes);
    return undefined;
  } catch (error) {
    if (PergolaError.isInstance(error)) return error.message.trim() === "" ? "an error without a message" : undefined;
    return error instanceof Error ? (error.stack ?? error.message) : `thrown: ${String(error)}`;
  }
}
