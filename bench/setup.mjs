// Installs what the benchmarks compare with, at pinned versions, into git-ignored folders:
//   node bench/setup.mjs [--no-ir] [--no-whisper] [--janus]
// openvino_genai (a Python venv), node-llama-cpp, an IR folder exported by optimum-intel, faster-whisper, and the Whisper models
// in the format that openvino_genai reads; with --janus also PyTorch and a checkpoint of random weights (4 GB).
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { withLock } from "../scripts/lib/lock.mjs";
import { demoModel } from "../scripts/lib/models.mjs";
import { inRoot } from "../scripts/lib/paths.mjs";
import { main, run, SetupError } from "../scripts/lib/process.mjs";
import { stampMatches, writeAtomic, writeStamp } from "../scripts/lib/stamp.mjs";
import { step } from "../scripts/lib/step.mjs";
import { build, fetchModels } from "../scripts/lib/tasks.mjs";
import {
  irFolder,
  irIsPresent,
  LLAMA_VERSION,
  llamaDir,
  llamaEntry,
  pergolaCache,
  python,
  venvDir,
} from "./lib/peers.mjs";
import { checkpoint, checkpointIsPresent } from "./lib/janus.mjs";
import { WHISPER_MODELS } from "./lib/whisper.mjs";
import { makeJanus } from "./make-janus.mjs";

const PIP = ["-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--only-binary=:all:", "--quiet"];

/** Installs the requirements of these files, unless they are there already. */
async function installPython(name, files) {
  const requirements = files.map((file) => readFileSync(inRoot("bench", file), "utf8"));
  const stamp = path.join(venvDir, `.${name}.json`);
  if (existsSync(python) && stampMatches(stamp, requirements)) return false;
  if (!existsSync(python)) {
    rmSync(venvDir, { recursive: true, force: true });
    await run("python3", ["-m", "venv", venvDir]);
  }
  await run(python, [...PIP, ...files.flatMap((file) => ["--requirement", inRoot("bench", file)])]);
  // optimum-intel asks for torchvision, whose build may not fit a CPU-only torch; text models do without it.
  if (name === "export") await run(python, ["-m", "pip", "uninstall", "--quiet", "--yes", "torchvision"]);
  writeStamp(stamp, requirements);
  return true;
}

async function installLlama() {
  const manifest = { name: "bench-peer", private: true, dependencies: { "node-llama-cpp": LLAMA_VERSION } };
  const stamp = path.join(llamaDir, ".installed.json");
  if (existsSync(llamaEntry()) && stampMatches(stamp, manifest)) return;
  mkdirSync(llamaDir, { recursive: true });
  writeAtomic(path.join(llamaDir, "package.json"), JSON.stringify(manifest));
  // Its install script looks for GPUs and may build from source; the CPU binary ships in a package of its own.
  await run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: llamaDir });
  writeStamp(stamp, manifest);
}

async function makeIr() {
  await step("Installing optimum-intel (large: it needs torch)", () =>
    installPython("export", ["requirements.txt", "requirements-export.txt"]),
  );
  await step("Exporting the IR folder", () => run(python, [inRoot("bench", "make-ir.py"), demoModel, irFolder]));
  if (!irIsPresent()) throw new SetupError(`The export left no model in ${irFolder}.`);
}

/** Our converted model with the tokenizer added that openvino_genai reads: peers run the same weights. */
async function makeWhisperIr({ folder, ir }) {
  const { resolveWhisperModel } = await import("../dist/models/whisper-model.js");
  const { folder: converted } = await resolveWhisperModel(folder, { cacheFolder: pergolaCache });
  const temporary = `${ir}.partial`;
  rmSync(temporary, { recursive: true, force: true });
  cpSync(converted, temporary, { recursive: true });
  await run(python, [inRoot("bench", "make-whisper-ir.py"), temporary]);
  rmSync(ir, { recursive: true, force: true });
  renameSync(temporary, ir);
}

async function setUpWhisper() {
  await fetchModels(["whisper-tiny.en", "whisper-base"]);
  await step("Installing faster-whisper", () =>
    installPython("whisper", ["requirements.txt", "requirements-whisper.txt"]),
  );
  for (const [name, model] of Object.entries(WHISPER_MODELS)) {
    if (!existsSync(model.ir)) await step(`Converting Whisper ${name}`, () => makeWhisperIr(model));
  }
}

async function setUpText(withIr) {
  await fetchModels(["smollm2"]);
  await step(`Installing node-llama-cpp ${LLAMA_VERSION}`, installLlama);
  if (withIr && !irIsPresent()) await makeIr();
}

async function setUpJanus() {
  await step("Installing PyTorch and transformers (large)", () =>
    installPython("janus", ["requirements.txt", "requirements-janus.txt"]),
  );
  if (!checkpointIsPresent()) await step("Making a Janus checkpoint (4 GB)", () => makeJanus(checkpoint()));
}

/** Makes everything that is missing. */
export async function setUpBench({ withText = true, withIr = true, withWhisper = true, withJanus = false } = {}) {
  await build();
  await step("Installing openvino_genai", () => installPython("genai", ["requirements.txt"]));
  if (withText) await setUpText(withIr);
  if (withWhisper) await setUpWhisper();
  if (withJanus) await setUpJanus();
}

if (process.argv[1] === import.meta.filename) {
  const has = (flag) => process.argv.includes(flag);
  const parts = { withIr: !has("--no-ir"), withWhisper: !has("--no-whisper"), withJanus: has("--janus") };
  await main(() => withLock(() => setUpBench(parts)));
}
