import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { inRoot } from "./paths.mjs";
import { probe, run } from "./process.mjs";
import { stampMatches, writeStamp } from "./stamp.mjs";

/** Build variants; each has its own folder below `native/build`. Sanitizers build the engine and its tests only. */
const VARIANTS = {
  release: { type: "Release", options: [] },
  debug: { type: "Debug", options: [] },
  asan: { type: "RelWithDebInfo", options: ["-DPERGOLA_SANITIZE=address"], target: "engine_test" },
  tsan: { type: "RelWithDebInfo", options: ["-DPERGOLA_SANITIZE=thread"], target: "engine_test" },
};

export const variantNames = Object.keys(VARIANTS);

/** The program that holds the C++ tests of the engine. */
export function engineTest(variant) {
  return inRoot("native", "build", variant, "engine_test");
}

/** True where there are C++ tests to build; without any, CMake makes no target for them. */
export function engineTestsExist() {
  const folder = inRoot("native", "test");
  return existsSync(folder) && readdirSync(folder).some((name) => name.endsWith(".cpp"));
}

/** Settings of the sanitizers: known reports of libraries that are not ours are listed in files beside the tests. */
export function sanitizerEnvironment(env = process.env) {
  const listed = (name) =>
    existsSync(inRoot("native", "test", name)) && `suppressions=${inRoot("native", "test", name)}`;
  return {
    ...env,
    // Without it TBB opens a library in a way (RTLD_DEEPBIND) that AddressSanitizer refuses.
    TBB_ENABLE_SANITIZERS: "1",
    TSAN_OPTIONS: [env.TSAN_OPTIONS, listed("tsan.supp")].filter(Boolean).join(":"),
    LSAN_OPTIONS: [env.LSAN_OPTIONS, listed("lsan.supp")].filter(Boolean).join(":"),
  };
}

function configureArguments(variant) {
  const { type, options } = VARIANTS[variant];
  return [
    ...["-S", inRoot("native"), "-B", inRoot("native", "build", variant), `-DCMAKE_BUILD_TYPE=${type}`],
    `-DPERGOLA_NODE_INCLUDE=${inRoot("node_modules", "node-api-headers", "include")}`,
    `-DPERGOLA_ADDON_API=${inRoot("node_modules", "node-addon-api")}`,
    ...options,
  ];
}

const stampOf = (variant) => inRoot("native", "build", variant, ".configured.json");
const cacheOf = (variant) => inRoot("native", "build", variant, "CMakeCache.txt");

/** True when the build folder was configured by this script with the arguments that hold today. */
export function addonIsConfigured(variant) {
  return existsSync(cacheOf(variant)) && stampMatches(stampOf(variant), configureArguments(variant));
}

async function configure(variant) {
  const folder = inRoot("native", "build", variant);
  const generator = probe("ninja", ["--version"]) === undefined ? "Unix Makefiles" : "Ninja";
  const all = [...configureArguments(variant), "-G", generator];
  const isFresh = !existsSync(cacheOf(variant));
  mkdirSync(folder, { recursive: true });
  try {
    await run("cmake", all);
  } catch (error) {
    if (isFresh) throw error;
    // A folder of another generator, or of a clone that was moved, cannot be configured again: start afresh.
    rmSync(folder, { recursive: true, force: true });
    await run("cmake", all);
  }
  writeStamp(stampOf(variant), configureArguments(variant));
}

/** Brings one variant up to date; CMake itself knows what has changed. Release and debug put the addon into `native/bin`. */
export async function buildAddon(variant) {
  if (!addonIsConfigured(variant)) await configure(variant);
  const { target } = VARIANTS[variant];
  const jobs = String(availableParallelism());
  const folder = inRoot("native", "build", variant);
  await run("cmake", ["--build", folder, "--parallel", jobs, ...(target ? ["--target", target] : [])]);
}
