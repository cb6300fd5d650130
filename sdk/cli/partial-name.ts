import { access } from "node:fs/promises";
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
