import type { LoadedWhisper } from "./whisper-model.js";
import type { WhisperCall } from "./whisper-settings.js";

const MOST = 8;
/** Share of free memory that encoded windows may take. */
const MEMORY_SHARE = 0.25;
/** Encoded windows are held once by themselves and once side by side. */
const COPIES = 2;

/** Windows decoded together: what the caller says, else as many (up to 8) as a quarter of the free memory holds. */
export function batchSizeFor(
  { facts, native }: Pick<LoadedWhisper, "facts" | "native">,
  { settings }: WhisperCall,
): number {
  if (settings.batchSize !== undefined) return settings.batchSize;
  const bytes = facts.windowBytes * COPIES * settings.beamSize;
  if (bytes === 0) return MOST;
  const { availableMemoryBytes } = native.systemInfo();
  return Math.max(1, Math.min(MOST, Math.floor((availableMemoryBytes * MEMORY_SHARE) / bytes)));
}
