import { randomUUID } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";

/** Writes a file under a temporary name and renames it: whoever reads it finds the old or the new content, whole. */
export async function writeWhole(file: string, content: string | Uint8Array): Promise<void> {
  const temporary = `${file}.${randomUUID().slice(0, 8)}.tmp`;
  try {
    await writeFile(temporary, content);
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
