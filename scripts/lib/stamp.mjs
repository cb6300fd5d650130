import { createHash } from "node:crypto";
import { createReadStream, readFileSync, statSync, writeFileSync, renameSync, mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import { pipeline } from "node:stream/promises";

/** SHA-256 of a file, as hex. */
export async function sha256(file) {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file, { highWaterMark: 1 << 20 }), hash);
  return hash.digest("hex");
}

/** Writes a file under a temporary name and renames it, so that readers never see half of it. */
export function writeAtomic(file, content) {
  mkdirSync(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}.tmp`;
  writeFileSync(temporary, content);
  renameSync(temporary, file);
}

/** The value of a stamp file, or undefined when it is missing or unreadable. */
export function readStamp(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

/** True when the stamp file holds exactly this value. */
export function stampMatches(file, value) {
  const stored = readStamp(file);
  return stored !== undefined && JSON.stringify(stored) === JSON.stringify(value);
}

export function writeStamp(file, value) {
  writeAtomic(file, `${JSON.stringify(value)}\n`);
}

/** Size and time of a file: changes whenever the file was written again. Undefined when there is no such file. */
export function fileIdentity(file) {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats && { size: stats.size, modified: stats.mtimeMs };
}

/** A short hash over names, sizes and times of all files below the given files and folders. */
export function fingerprint(entries, accept = () => true) {
  const hash = createHash("sha256");
  const visit = (entry) => {
    const stats = statSync(entry, { throwIfNoEntry: false });
    if (!stats) hash.update(`${entry}:missing\n`);
    else if (stats.isDirectory()) for (const name of readdirSync(entry).sort()) visit(path.join(entry, name));
    else if (accept(entry)) hash.update(`${entry}:${stats.size}:${stats.mtimeMs}\n`);
  };
  for (const entry of entries) visit(entry);
  return hash.digest("hex").slice(0, 32);
}
