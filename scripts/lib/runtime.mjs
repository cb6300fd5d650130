import { existsSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { inRoot, runtimeDir } from "./paths.mjs";
import { stampMatches, writeStamp } from "./stamp.mjs";
import { downloadWheel, forgetWheel, unpackWheel } from "./wheel.mjs";

/** The OpenVINO runtime, as PyPI has it. Headers are in it too; no Python code of it is used. */
export const RUNTIME_WHEEL = {
  name: "openvino",
  version: "2026.4.1",
  sha256: "2d22b1da03f7caf74df30e9f6417d0ab2f637e4a38e08e1dcd294d2c37407aaf",
  tags: [
    ...["--platform", "manylinux_2_28_x86_64"],
    ...["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"],
  ],
};

/** Libraries that a finished program needs. Patterns as in `fnmatch`. */
export const RUNTIME_LIBRARIES = [
  "libopenvino.so.*",
  "libopenvino_ir_frontend.so.*",
  "libopenvino_gguf_frontend.so.*",
  "libopenvino_intel_cpu_plugin.so",
  "libopenvino_intel_gpu_plugin.so",
  "libopenvino_intel_npu_plugin.so",
  "libopenvino_auto_plugin.so",
  "libopenvino_auto_batch_plugin.so",
  "libopenvino_hetero_plugin.so",
  "libtbb.so.*",
  "libtbbmalloc.so.*",
  "libtbbbind_2_5.so.*",
  "libhwloc.so.*",
  // Kernel choices of the GPU plugin, read when a GPU is there.
  "cache.json",
];

const stampFile = path.join(runtimeDir, ".stamp.json");
const stamp = { version: RUNTIME_WHEEL.version, sha256: RUNTIME_WHEEL.sha256, layout: 1 };

export function runtimeIsPresent() {
  return stampMatches(stampFile, stamp);
}

/** Downloads the runtime and unpacks what the build needs into `native/runtime` (libs, include, licenses). */
export async function fetchRuntime() {
  const wheel = await downloadWheel(RUNTIME_WHEEL);
  const temporary = inRoot("native", `.runtime-${process.pid}`);
  try {
    const libraries = RUNTIME_LIBRARIES.map((name) => `openvino/libs/${name}`);
    await unpackWheel(wheel, temporary, [...libraries, "openvino/include/*", "*/licenses/*"]);
    const unpacked = path.join(temporary, "openvino");
    const licenses = path.join(temporary, `${RUNTIME_WHEEL.name}-${RUNTIME_WHEEL.version}.dist-info`, "licenses");
    renameSync(licenses, path.join(unpacked, "licenses"));
    writeStamp(path.join(unpacked, ".stamp.json"), stamp);
    if (existsSync(runtimeDir)) renameSync(runtimeDir, path.join(temporary, "previous"));
    renameSync(unpacked, runtimeDir);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  forgetWheel(RUNTIME_WHEEL);
}
