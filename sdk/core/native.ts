import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { NativeError } from "./errors.js";
import { NATIVE_ABI, type NativeAddon } from "./native-types.js";
import { explainLoadFailure, isMusl, type FailedPlace, type NativeSearch } from "./native-failure.js";
import { isBundled, ownFile } from "./own-file.js";

let loaded: NativeAddon | undefined;

/**
 * The addon, loaded on first use (importing the package never loads it).
 * Order: the file named by `PERGOLA_NATIVE`; `native/bin/pergola.node` of a clone; the platform's package.
 *
 * @throws NativeError telling each place tried with its reason, and what to do
 */
export function getNative(): NativeAddon {
  return (loaded ??= untilExit(loadNative(systemSearch())));
}

/** At `process.exit()` Node takes the runtime's libraries down without asking; threads that compute in them would crash. */
function untilExit(addon: NativeAddon): NativeAddon {
  process.once("exit", () => addon.shutDown());
  return addon;
}

/** @internal Replaces the addon; `undefined` goes back to the real one. */
export function setNativeForTesting(addon: NativeAddon | undefined): void {
  loaded = addon;
}

/** @internal */
export function loadNative(search: NativeSearch): NativeAddon {
  const failures: FailedPlace[] = [];
  const causes: unknown[] = [];
  for (const { place, id } of places(search)) {
    if (id !== place && !search.fileExists(id)) {
      failures.push({ place, reason: "no such file" });
      continue;
    }
    try {
      const addon = search.require(id) as NativeAddon;
      // Whatever was found there need not be this SDK's addon.
      const abi = (addon as Partial<NativeAddon> | undefined)?.info?.abi;
      if (abi === NATIVE_ABI) return addon;
      failures.push({
        place,
        reason: `has interface version ${String(abi)}, this SDK needs ${NATIVE_ABI}: rebuild or reinstall it`,
      });
    } catch (error) {
      causes.push(error);
      failures.push({ place, reason: firstLine(error) });
    }
  }
  throw new NativeError(explainLoadFailure(search, failures), { cause: causes[0] });
}

/** The package that carries the addon for a platform. */
export function platformPackage(search: Pick<NativeSearch, "platform" | "arch">): string {
  return `@pergola/${search.platform}-${search.arch}`;
}

function places(search: NativeSearch): { place: string; id: string }[] {
  if (search.override) {
    // An explicit file that does not load must not be replaced by another in silence.
    return [{ place: `PERGOLA_NATIVE=${search.override}`, id: resolve(search.override) }];
  }
  const name = `${platformPackage(search)}/pergola.node`;
  return [
    { place: "native/bin/pergola.node", id: join(search.packageRoot, "native", "bin", "pergola.node") },
    { place: name, id: name },
  ];
}

function systemSearch(): NativeSearch {
  const bundled = isBundled();
  const packageRoot = findPackageRoot(ownFile(import.meta.url) ?? join(process.cwd(), "program.js"));
  return {
    packageRoot,
    override: process.env["PERGOLA_NATIVE"] || undefined,
    platform: process.platform,
    arch: process.arch,
    nodeVersion: process.versions.node,
    get musl() {
      return isMusl(); // slow, and only needed in a message
    },
    bundled,
    require: createRequire(join(packageRoot, "package.json")),
    fileExists: existsSync,
  };
}

/**
 * The folder of this package's package.json: sources lie in `sdk/core`, the build in `dist/core`. The code of a bundle lies
 * elsewhere, but the package may be installed where the bundle finds it.
 */
function findPackageRoot(file: string): string {
  const start = dirname(file);
  for (let folder = start; ; folder = dirname(folder)) {
    const manifest = join(folder, "package.json");
    if (existsSync(manifest) && (JSON.parse(readFileSync(manifest, "utf8")) as { name?: string }).name === "pergola") {
      return folder;
    }
    if (dirname(folder) === folder) break;
  }
  try {
    return dirname(createRequire(file).resolve("pergola/package.json"));
  } catch {
    return start;
  }
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n")[0]!;
}
