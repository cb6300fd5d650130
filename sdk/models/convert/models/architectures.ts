import type { Architecture } from "./common/architecture.js";
import { JANUS } from "./janus/janus-checkpoint.js";
import { LANGUAGE_MODEL } from "./llama/llama-checkpoint.js";
import { WHISPER } from "./whisper/whisper-checkpoint.js";

/** All that can be converted. A new architecture is added here. */
export const ARCHITECTURES: readonly Architecture[] = [WHISPER, LANGUAGE_MODEL, JANUS];

/** The architecture of a name; it is known, since checkpoints are found by this list. */
export function architectureNamed(name: string): Architecture {
  const found = ARCHITECTURES.find((architecture) => architecture.name === name);
  if (!found) throw new RangeError(`no architecture ${name}`);
  return found;
}

/** The architecture that converts models of a `model_type`. */
export function architectureOfType(type: unknown): Architecture | undefined {
  return ARCHITECTURES.find(({ modelTypes }) => modelTypes.some((known) => known === type));
}
