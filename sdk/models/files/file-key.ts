import { createHash } from "node:crypto";
import { realpath, stat } from "node:fs/promises";

/**
 * Identity of a set of files: changes whenever one of them does. Made of paths, sizes and times of change; links are resolved
 * first, so that a file reached in two ways is one file.
 */
export async function keyOfFiles(files: readonly string[], ...more: string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const file of files) {
    const real = await realpath(file);
    const { size, mtimeMs } = await stat(real);
    hash.update(`${real}\0${size}\0${mtimeMs}\n`);
  }
  for (const part of more) hash.update(`${part}\n`);
  return hash.digest("hex").slice(0, 32);
}
