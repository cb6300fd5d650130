import { existsSync } from "node:fs";
import path from "node:path";
import { cacheDir, inRoot } from "../../scripts/lib/paths.mjs";

/** Everything that benchmarks install or keep; ignored by git, and may be deleted. */
export const benchDir = path.join(cacheDir, "bench");

export const venvDir = path.join(benchDir, "peers");
export const python = path.join(venvDir, "bin", "python");

/** node-llama-cpp is a peer, not a dependency: it has a folder of its own. */
export const llamaDir = path.join(benchDir, "node-llama-cpp");
export const LLAMA_VERSION = "3.22.1";

/** The module to import; the package is written for `import` only, which `require.resolve` does not find. */
export function llamaEntry() {
  return path.join(llamaDir, "node_modules", "node-llama-cpp", "dist", "index.js");
}

/** The IR folder that bench/make-ir.py writes. */
export const irFolder = inRoot("models", "smollm2-ir");

/** Compiled models of the benchmarks, apart from the user's. */
export const pergolaCache = path.join(benchDir, "pergola-cache");
export const genaiCache = path.join(benchDir, "genai-cache");

/** True where the IR folder is complete: make-ir.py renames it into place when it is. */
export const irIsPresent = () => existsSync(path.join(irFolder, "openvino_model.xml"));
