import { join } from "node:path";
import { keepExternal } from "./own-file.js";

/** @internal Everything the search for the addon depends on; tests pass their own. */
export interface NativeSearch {
  packageRoot: string;
  /** `PERGOLA_NATIVE`. */
  override: string | undefined;
  platform: string;
  arch: string;
  nodeVersion: string;
  musl: boolean;
  /** A bundler has put this code elsewhere. */
  bundled: boolean;
  /** Loads a `.node` file, or an addon package by name. */
  require(id: string): unknown;
  fileExists(path: string): boolean;
}

/** @internal A place that was tried, and why it gave no addon. */
export interface FailedPlace {
  place: string;
  reason: string;
}

const OLDEST_NODE = [20, 19] as const;
/** Platforms that have an addon package (`scripts/lib/pack.mjs`), and what they are called. */
const SUPPORTED = new Map([["linux-x64", "Linux on x64 with glibc"]]);

/** Explains to a user why there is no addon and which command gives one. */
export function explainLoadFailure(search: NativeSearch, failures: readonly FailedPlace[]): string {
  const { platform, arch, nodeVersion, musl } = search;
  const target = `${platform}-${arch}${musl ? " (musl)" : ""}`;
  const lines = [
    `The native core of pergola could not be loaded on ${target} with Node.js ${nodeVersion}.`,
    ...failures.map(({ place, reason }) => `  - ${place}: ${reason}`),
    "What to do:",
    ...remedies(search, failures).map((remedy) => `  - ${remedy}`),
  ];
  return lines.join("\n");
}

/** True on Linux systems whose C library is not glibc (Alpine and the like). */
export function isMusl(): boolean {
  if (process.platform !== "linux") return false;
  // Network interfaces are looked up by name otherwise, which can take seconds.
  const report = process.report as typeof process.report & { excludeNetwork?: boolean };
  report.excludeNetwork = true;
  const header = (report.getReport() as { header?: { glibcVersionRuntime?: string } }).header;
  return header?.glibcVersionRuntime === undefined;
}

function remedies(search: NativeSearch, failures: readonly FailedPlace[]): string[] {
  const { platform, arch, nodeVersion, musl, packageRoot, override } = search;
  const found: string[] = [];
  const reasons = failures.map(({ reason }) => reason).join("\n");
  if (isTooOld(nodeVersion)) {
    found.push(`Use Node.js ${OLDEST_NODE.join(".")} or newer; this is ${nodeVersion}.`);
  }
  if (!SUPPORTED.has(`${platform}-${arch}`)) {
    const builds = [...SUPPORTED].map(([name, words]) => `${name} (${words})`).join(", ");
    found.push(
      `There is no build for ${platform}-${arch}; supported: ${builds}.`,
      "Run the program on such a system: there, in a container or virtual machine (docker run --platform linux/amd64), or in WSL 2.",
    );
    return found;
  }
  if (musl) {
    found.push("This system uses musl; OpenVINO needs glibc. Use a glibc-based image (Debian, Ubuntu, Fedora).");
  }
  const glibc = /GLIBC(?:XX)?_[\d.]+/.exec(reasons)?.[0];
  if (glibc !== undefined) {
    found.push(
      `This system's C/C++ library is older than ${glibc}: use a newer distribution, or build from source here.`,
    );
  }
  const library = /^(lib[^:\s]+): cannot open shared object file/m.exec(reasons)?.[1];
  if (library !== undefined) {
    found.push(`The shared library ${library} is missing beside the addon: run the build or the installation again.`);
  }
  if (override) {
    found.push("Correct PERGOLA_NATIVE (the path of a pergola.node file), or unset it.");
  }
  if (search.bundled) {
    found.push(keepExternal(`@pergola/${platform}-${arch}`));
    found.push("Or set PERGOLA_NATIVE to the path of an installed pergola.node.");
  }
  if (search.fileExists(join(packageRoot, "native", "CMakeLists.txt"))) {
    found.push("In a clone of the repository, build the addon: npm run build");
  } else {
    found.push(
      `Install the platform's package: npm install @pergola/${platform}-${arch} ` +
        "(it is an optional dependency; --omit=optional or a lock file made on another platform leaves it out).",
    );
  }
  return found;
}

function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]);
}
