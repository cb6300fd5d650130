import { availableParallelism, loadavg } from "node:os";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { systemInfo } from "../../dist/index.js";
import { measureReadBandwidth } from "../../dist/cli/memory-bandwidth.js";
import { readGguf } from "../../dist/models/gguf/gguf-file.js";
import { probe } from "../../scripts/lib/process.mjs";
import { demoModel } from "../../scripts/lib/models.mjs";
import { llamaEntry, python } from "./peers.mjs";

const PASSES = 5;
/** `weights: "int8"` keeps one scale of two bytes for so many values (native/src/engine/models/language_model.cpp). */
const INT8_GROUP = 64;

/** What must be known about a machine to read the figures. Takes a few seconds of all cores. */
export async function describeMachine() {
  const { cpuModel, cpuFlags, runtime, totalMemoryBytes } = systemInfo();
  let bandwidth = 0;
  for (let pass = 0; pass < PASSES; pass++) bandwidth = Math.max(bandwidth, await measureReadBandwidth());
  return {
    cpuModel,
    cpuFlags,
    cores: availableParallelism(),
    totalMemoryBytes,
    bandwidthBytesPerSecond: bandwidth,
    loadBefore: loadavg(),
    versions: { ...(await peerVersions()), node: process.version, openvino: runtime },
    commit: (probe("git", ["rev-parse", "--short", "HEAD"]) ?? "unknown").trim(),
  };
}

async function peerVersions() {
  const manifest = path.join(path.dirname(llamaEntry()), "..", "package.json");
  const versionOf = (name) =>
    probe(python, ["-c", `from importlib.metadata import version; print(version('${name}'))`])?.trim() ??
    "not installed";
  return {
    "openvino_genai (Python)": versionOf("openvino-genai"),
    "faster-whisper": versionOf("faster-whisper"),
    ctranslate2: versionOf("ctranslate2"),
    transformers: versionOf("transformers"),
    torch: versionOf("torch"),
    "node-llama-cpp": existsSync(manifest) ? JSON.parse(readFileSync(manifest, "utf8")).version : "not installed",
  };
}

/**
 * The least time of a later token on this memory: every weight is read once. For weights in int8, what rounding makes of the
 * matrices; the token embedding counts once, because this model uses it as its last layer too.
 *
 * @returns {Promise<{ title: string, bytes: number, ms: number }[]>}
 */
export async function floors(bandwidthBytesPerSecond, irBytes) {
  const { tensors } = await readGguf(demoModel);
  const bytes = (of) => tensors.reduce((sum, tensor) => sum + of(tensor), 0);
  const elements = ({ dimensions }) => dimensions.reduce((product, size) => product * size, 1);
  const floor = (title, count) => ({ title, bytes: count, ms: (count / bandwidthBytesPerSecond) * 1000 });
  return [
    floor(
      "GGUF file, the file's values",
      bytes((tensor) => tensor.byteLength),
    ),
    floor(
      "GGUF file, weights int8",
      bytes((tensor) => (tensor.dimensions.length > 1 ? elements(tensor) * (1 + 2 / INT8_GROUP) : tensor.byteLength)),
    ),
    ...(irBytes ? [floor("IR folder, f16", irBytes)] : []),
  ];
}
