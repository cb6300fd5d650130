import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { addonFile, inRoot, runtimeDir } from "./paths.mjs";
import { run, SetupError } from "./process.mjs";
import { RUNTIME_LIBRARIES, RUNTIME_WHEEL } from "./runtime.mjs";

/** Name of the package that carries the addon and the runtime for this platform. */
export const PLATFORM_PACKAGE = "@pergola/linux-x64";

/** `package.json` of the platform package. It has no scripts: installing it runs nothing. */
export function platformManifest(sdk) {
  return {
    name: PLATFORM_PACKAGE,
    version: sdk.version,
    description: `Native core of pergola with the OpenVINO ${RUNTIME_WHEEL.version} runtime, for Linux on x64 (glibc).`,
    license: sdk.license,
    os: ["linux"],
    cpu: ["x64"],
    libc: ["glibc"],
    engines: sdk.engines,
    exports: { "./pergola.node": "./bin/pergola.node", "./package.json": "./package.json" },
    files: ["bin", "runtime", "README.md", "LICENSE"],
  };
}

/** `package.json` of the SDK as it is published: what only the clone needs is left out, the platform package is named. */
export function publishedManifest(sdk) {
  const published = { ...sdk, optionalDependencies: { ...sdk.optionalDependencies, [PLATFORM_PACKAGE]: sdk.version } };
  delete published.scripts;
  delete published.devDependencies;
  return published;
}

/** True for a file name that one of the patterns (with `*`) describes. */
export function matchesAny(name, patterns) {
  return patterns.some((pattern) => {
    const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`^${parts.join(".*")}$`).test(name);
  });
}

async function npmPack(folder, destination) {
  const output = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", destination], {
    cwd: folder,
  });
  const [{ filename }] = Object.values(JSON.parse(output.slice(output.search(/[[{]/))));
  return path.join(destination, filename.replace("@", "").replace("/", "-"));
}

function writeManifest(folder, manifest) {
  writeFileSync(path.join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

function stageSdk(folder, sdk) {
  for (const name of ["dist", "docs", "README.md", "LICENSE"]) {
    if (!existsSync(inRoot(name))) throw new SetupError(`${name} is missing, so the package cannot be made.`);
    cpSync(inRoot(name), path.join(folder, name), { recursive: true });
  }
  rmSync(path.join(folder, "docs", "api"), { recursive: true, force: true });
  writeManifest(folder, publishedManifest(sdk));
}

/** The layout of the clone (`bin` beside `runtime/libs`), because the addon looks for its libraries at `$ORIGIN/../runtime/libs`. */
function stagePlatform(folder, sdk) {
  mkdirSync(path.join(folder, "bin"), { recursive: true });
  copyFileSync(addonFile, path.join(folder, "bin", "pergola.node"));
  const libraries = path.join(runtimeDir, "libs");
  mkdirSync(path.join(folder, "runtime", "libs"), { recursive: true });
  for (const name of readdirSync(libraries)) {
    if (!matchesAny(name, RUNTIME_LIBRARIES)) continue;
    copyFileSync(path.join(libraries, name), path.join(folder, "runtime", "libs", name));
  }
  cpSync(path.join(runtimeDir, "licenses"), path.join(folder, "runtime", "licenses"), { recursive: true });
  copyFileSync(inRoot("LICENSE"), path.join(folder, "LICENSE"));
  const manifest = platformManifest(sdk);
  writeManifest(folder, manifest);
  writeFileSync(
    path.join(folder, "README.md"),
    `# ${manifest.name}\n\n${manifest.description}\n\nInstalled with \`pergola\`; not for use on its own. ` +
      "The OpenVINO runtime and its parts have their licences in `runtime/licenses`.\n",
  );
}

/**
 * Packs the SDK and the platform package with `npm pack`, from copies in a temporary folder.
 *
 * @param {string} destination
 * @returns {Promise<string[]>} the two files
 */
export async function packAll(destination) {
  const sdk = JSON.parse(readFileSync(inRoot("package.json"), "utf8"));
  const temporary = mkdtempSync(path.join(tmpdir(), "pergola-pack-"));
  mkdirSync(destination, { recursive: true });
  try {
    const files = [];
    for (const [name, stage] of [
      ["sdk", stageSdk],
      ["platform", stagePlatform],
    ]) {
      const folder = path.join(temporary, name);
      mkdirSync(folder);
      stage(folder, sdk);
      files.push(await npmPack(folder, destination));
    }
    return files;
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}
