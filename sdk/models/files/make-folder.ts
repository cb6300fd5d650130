import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** `mkdir` with `recursive` never returns below folders in which nothing can be made, such as `/proc`; this throws. */
export async function makeFolder(folder: string, withParents = true): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && (await stat(folder)).isDirectory()) return;
    if (code !== "ENOENT" || !withParents || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder));
    await makeFolder(folder, false);
  }
}
