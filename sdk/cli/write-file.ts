import { access, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";

/** True where there is something of this name. */
export async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

/** Where a result goes that Ctrl-C cut short: never over an existing file, which may be whole (`talk.partial.srt`). */
export async function nameForPart(file: string): Promise<string> {
  if (!(await exists(file))) return file;
  const { dir, name, ext } = path.parse(file);
  return path.join(dir, `${name}.partial${ext}`);
}

/** Writes a file under a temporary name and renames it: whoever reads it finds the old or the new content, whole. */
export async function writeWhole(file: string, content: string): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    await writeFile(temporary, content);
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
