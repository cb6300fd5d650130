import { constants } from "node:fs";
import { access, lstat, open, stat } from "node:fs/promises";

/** What is wrong with a file; `undefined` when it can be read and holds something. */
export async function problemOf(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (!found) {
    const link = await lstat(path).catch(() => undefined);
    return link?.isSymbolicLink() ? "a link to a file that does not exist" : "missing";
  }
  if (!found.isFile()) return "not a file";
  if (found.size === 0) return "empty";
  const readable = await access(path, constants.R_OK).then(
    () => true,
    () => false,
  );
  if (!readable) return "not readable (permissions)";
  if (found.size < 1024 && (await startsWith(path, "version https://git-lfs"))) {
    return "a Git LFS pointer, not the file itself (run git lfs pull)";
  }
  return undefined;
}

/** True if the file begins with these ASCII characters. */
export async function startsWith(path: string, text: string): Promise<boolean> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(text.length), 0, text.length, 0);
    return bytesRead === text.length && buffer.toString("latin1") === text;
  } finally {
    await file.close();
  }
}
