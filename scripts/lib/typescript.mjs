import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { writeCommonJsTypes } from "./commonjs-types.mjs";
import { cacheDir, inRoot } from "./paths.mjs";
import { run } from "./process.mjs";
import { fingerprint, stampMatches, writeStamp } from "./stamp.mjs";

const stampFile = path.join(cacheDir, "typescript.json");
const commonJsTypes = inRoot("dist", "index.d.cts");
const command = inRoot("dist", "cli", "index.js");

function currentState() {
  const sources = ["sdk", "tsconfig.json", "tsconfig.build.json", "package.json"].map((name) => inRoot(name));
  const { version } = JSON.parse(readFileSync(inRoot("node_modules", "typescript", "package.json"), "utf8"));
  return { sources: fingerprint(sources), typescript: version };
}

/** True when `dist` was compiled from the sources as they are now. */
export function typeScriptIsBuilt() {
  return existsSync(command) && existsSync(commonJsTypes) && stampMatches(stampFile, currentState());
}

/** `npx pergola` in the clone: npm links the commands of dependencies only, so the clone's own is linked here. */
function linkCommand() {
  const link = inRoot("node_modules", ".bin", "pergola");
  mkdirSync(path.dirname(link), { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(path.relative(path.dirname(link), command), link);
}

/** Compiles `sdk` into `dist` and makes the command line program runnable. */
export async function buildTypeScript() {
  const state = currentState();
  rmSync(stampFile, { force: true });
  // Files of sources that no longer exist must not be packed.
  rmSync(inRoot("dist"), { recursive: true, force: true });
  await run(process.execPath, [
    inRoot("node_modules", "typescript", "bin", "tsc"),
    "-p",
    inRoot("tsconfig.build.json"),
  ]);
  await writeCommonJsTypes(inRoot("dist", "index.d.ts"));
  chmodSync(command, 0o755);
  linkCommand();
  writeStamp(stampFile, state);
}
