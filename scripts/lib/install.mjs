import { readStamp } from "./stamp.mjs";
import { inRoot } from "./paths.mjs";
import { run } from "./process.mjs";

/**
 * True when what is installed is what the lock file asks for. npm keeps its own record of `node_modules` in
 * `.package-lock.json`; optional packages of other platforms are missing there by design.
 */
export function installMatchesLock(lock, installed) {
  if (!lock?.packages || !installed?.packages) return false;
  return Object.entries(lock.packages).every(([name, wanted]) => {
    if (name === "" || wanted.link) return true;
    const present = installed.packages[name];
    if (!present) return Boolean(wanted.optional);
    return present.version === wanted.version && present.integrity === wanted.integrity;
  });
}

export function dependenciesAreInstalled() {
  return installMatchesLock(
    readStamp(inRoot("package-lock.json")),
    readStamp(inRoot("node_modules", ".package-lock.json")),
  );
}

/** `npm ci` without install scripts: no dependency needs one. */
export async function installDependencies() {
  await run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
}
