import { join } from "node:path";
import { ModelError, UnsupportedError } from "../../core/errors.js";
import type { Checkpoint } from "../convert/models/common/architecture.js";
import { recognize } from "./recognize.js";

const WANTED =
  "a checkpoint: a Hugging Face folder (config.json and model.safetensors) or a CTranslate2 folder of Whisper (model.bin)";

/**
 * The checkpoint that a path leads to, of whatever kind. A file stands for its folder.
 *
 * @throws OptionError if the argument cannot be a path
 * @throws ModelError if there is nothing, or nothing to be converted
 * @throws UnsupportedError for hub ids and for checkpoints that cannot be converted
 */
export async function findCheckpoint(model: unknown): Promise<Checkpoint> {
  const { folder, sightings } = await recognize(model, WANTED);
  const { what, format, shownBy, checkpoint } = sightings[0]!;
  if (checkpoint) return checkpoint;
  if (format === "gguf") {
    const message = `${join(folder, shownBy)} is a GGUF model, which is loaded as it is: it needs no conversion.`;
    throw new UnsupportedError(message, { subject: "GGUF conversion" });
  }
  if (format === "ir") {
    throw new ModelError(`${folder} is OpenVINO IR already. Pass the checkpoint it was made from.`, { file: folder });
  }
  throw new ModelError(`${folder} holds ${what} (${shownBy}), not ${WANTED}.`, { file: folder });
}
