import { join } from "node:path";
import { ModelError } from "../../core/errors.js";

/** Names of split files: `name-00002-of-00003.gguf`. */
const SHARD = /^(?<stem>.+)-\d{5}-of-(?<count>\d{5})\.gguf$/i;

/**
 * The one GGUF model in a folder that holds some: its first file, if it is split. Vision projectors (`mmproj`) do not count.
 *
 * @param names - what the folder holds
 * @throws ModelError if there are several models
 */
export function ggufInFolder(folder: string, names: readonly string[]): string {
  const files = names.filter((name) => /\.gguf$/i.test(name) && !/mmproj/i.test(name)).sort();
  const models = new Map<string, string>();
  for (const file of files) {
    const { stem, count } = SHARD.exec(file)?.groups ?? {};
    const model = stem === undefined ? file : `${stem} (${count})`;
    if (!models.has(model)) models.set(model, file);
  }
  if (models.size > 1) {
    throw new ModelError(
      `${folder} holds ${models.size} GGUF models: ${[...models.values()].join(", ")}. Pass the path of the one to load.`,
      { file: folder },
    );
  }
  return join(folder, files[0]!);
}
