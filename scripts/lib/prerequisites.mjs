import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { probe, SetupError } from "./process.mjs";
import { root } from "./paths.mjs";

const GIGABYTE = 1e9;

/** What a fresh clone needs while it sets itself up: runtime, model, node_modules and build. */
export const NEEDED_BYTES = 1.5 * GIGABYTE;

/** Compares dotted version numbers; missing parts count as 0. */
export function versionAtLeast(version, wanted) {
  const [have, need] = [version, wanted].map((text) => text.split(".").map(Number));
  for (let index = 0; index < need.length; index++) {
    const difference = (have[index] ?? 0) - need[index];
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/** First version number in a program's output. */
export function findVersion(text) {
  return /(\d+\.\d+(?:\.\d+)?)/.exec(text ?? "")?.[1];
}

/** The C++ compiler to use: `$CXX` or the first that compiles a C++17 program. */
export function findCompiler(env = process.env, run = probe) {
  const candidates = env.CXX ? [env.CXX] : ["c++", "g++", "clang++"];
  const program = "#include <filesystem>\n#include <optional>\nint main() { if constexpr (true) return 0; }\n";
  return candidates.find((name) => run(name, ["-std=c++17", "-fsyntax-only", "-x", "c++", "-"], program) !== undefined);
}

/** Facts about this machine, as far as they matter to the build. Slow parts (pip, the test compile) take about a second. */
export async function inspectMachine() {
  const space = await statfs(root);
  return {
    platform: process.platform,
    arch: process.arch,
    glibc: process.report?.getReport().header.glibcVersionRuntime,
    node: process.versions.node,
    npm: findVersion(probe("npm", ["--version"])),
    compiler: findCompiler(),
    compilerAsked: process.env.CXX,
    cmake: findVersion(probe("cmake", ["--version"])),
    buildTool: ["ninja", "make"].find((tool) => probe(tool, ["--version"]) !== undefined),
    python: findVersion(probe("python3", ["--version"])),
    pip: findVersion(probe("python3", ["-m", "pip", "--version"])),
    freeBytes: space.bavail * space.bsize,
    packageManager: ["apt-get", "dnf", "zypper", "pacman"].find((name) => existsSync(`/usr/bin/${name}`)),
  };
}

const INSTALL = {
  "apt-get": {
    command: "sudo apt-get install -y",
    compiler: "g++",
    cmake: "cmake",
    make: "make",
    python: "python3",
    pip: "python3-pip",
  },
  dnf: {
    command: "sudo dnf install -y",
    compiler: "gcc-c++",
    cmake: "cmake",
    make: "make",
    python: "python3",
    pip: "python3-pip",
  },
  zypper: {
    command: "sudo zypper install -y",
    compiler: "gcc-c++",
    cmake: "cmake",
    make: "make",
    python: "python3",
    pip: "python3-pip",
  },
  pacman: {
    command: "sudo pacman -S --needed",
    compiler: "gcc",
    cmake: "cmake",
    make: "make",
    python: "python",
    pip: "python-pip",
  },
};

/**
 * What is missing, one entry a prerequisite: `{ text, install }`, where `install` is a key of the package table.
 * A pure function of the facts, so that every case can be tested.
 */
export function missingPrerequisites(machine) {
  const missing = [];
  const need = (ok, text, install) => ok || missing.push({ text, install });
  need(
    machine.platform === "linux" && machine.arch === "x64",
    `Linux on x64 (this is ${machine.platform} on ${machine.arch}; other platforms are not supported yet)`,
  );
  if (machine.platform === "linux") {
    need(
      machine.glibc !== undefined && versionAtLeast(machine.glibc, "2.28"),
      `glibc 2.28 or newer (found ${machine.glibc ?? "another C library, such as musl"}): use a newer distribution`,
    );
  }
  need(
    versionAtLeast(machine.node, "20.19"),
    `Node.js 20.19 or newer (found ${machine.node}): install a current version from https://nodejs.org`,
  );
  need(machine.npm !== undefined, "npm (not found): it comes with Node.js from https://nodejs.org");
  need(
    machine.compiler !== undefined,
    machine.compilerAsked
      ? `a C++17 compiler (CXX is set to "${machine.compilerAsked}", which does not compile a C++17 program: unset it or correct it)`
      : "a C++17 compiler (no c++, g++ or clang++ that compiles a C++17 program)",
    machine.compilerAsked ? undefined : "compiler",
  );
  need(
    machine.cmake !== undefined && versionAtLeast(machine.cmake, "3.20"),
    `CMake 3.20 or newer (${machine.cmake ? `found ${machine.cmake}` : "not found"})`,
    "cmake",
  );
  need(machine.buildTool !== undefined, "make or ninja (neither found)", "make");
  need(
    machine.python !== undefined && versionAtLeast(machine.python, "3.8"),
    `Python 3.8 or newer, used only to fetch and unpack the runtime (${machine.python ? `found ${machine.python}` : "no python3"})`,
    "python",
  );
  need(machine.pip !== undefined, "pip for that Python (`python3 -m pip` does not run)", "pip");
  need(
    machine.freeBytes >= NEEDED_BYTES,
    `${(NEEDED_BYTES / GIGABYTE).toFixed(1)} GB of free disk space (${(machine.freeBytes / GIGABYTE).toFixed(1)} GB free)`,
  );
  return missing;
}

/** One message for everything that is missing, ending with the command that installs it; undefined when nothing is. */
export function prerequisiteMessage(machine) {
  const missing = missingPrerequisites(machine);
  if (missing.length === 0) return undefined;
  const lines = ["Pergola cannot be built here yet. Missing:", ...missing.map(({ text }) => `  - ${text}`)];
  const table = INSTALL[machine.packageManager];
  const packages = [...new Set(missing.flatMap(({ install }) => (install && table ? [table[install]] : [])))];
  if (packages.length > 0) lines.push("Install with:", `  ${table.command} ${packages.join(" ")}`);
  return lines.join("\n");
}

/** Throws one {@link SetupError} that names everything missing. */
export async function checkPrerequisites() {
  const message = prerequisiteMessage(await inspectMachine());
  if (message !== undefined) throw new SetupError(message);
}
