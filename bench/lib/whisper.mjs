import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { modelFolder } from "../../scripts/lib/models.mjs";
import { inRoot } from "../../scripts/lib/paths.mjs";
import { SetupError } from "../../scripts/lib/process.mjs";
import { writeAtomic } from "../../scripts/lib/stamp.mjs";
import { Child } from "./child.mjs";
import { benchDir, pergolaCache, python } from "./peers.mjs";

/** Windows or pieces computed together by those that batch. */
export const BATCH = 4;

/** Models that take part, and the folder that openvino_genai reads: our converted model with its tokenizer added. */
export const WHISPER_MODELS = {
  "tiny.en": {
    folder: modelFolder("whisper-tiny.en"),
    ir: path.join(benchDir, "whisper-tiny.en-ir"),
    multilingual: false,
  },
  base: { folder: modelFolder("whisper-base"), ir: path.join(benchDir, "whisper-base-ir"), multilingual: true },
};

/** The recordings: a long one of several windows, and one that fits into a single window. */
export const CLIPS = { long: "long-human-75", short: "jfk" };

/** The folder with recordings of people, which are no part of the repository. Undefined where there is none. */
export function recordingsFolder() {
  const named = process.env.PERGOLA_TEST_AUDIO;
  if (named) return path.resolve(named);
  const sibling = inRoot("..", "shared", "fixtures", "whisper", "audio");
  return existsSync(sibling) ? sibling : undefined;
}

/** @returns {{ file: string, seconds: number, reference: string, language: string }} */
export function readClip(name) {
  const folder = recordingsFolder();
  if (folder === undefined) throw new SetupError("PERGOLA_TEST_AUDIO must name the folder with the recordings.");
  const { clips } = JSON.parse(readFileSync(path.join(folder, "clips.json"), "utf8"));
  if (!clips[name]) throw new SetupError(`There is no recording ${name} in ${folder}.`);
  return { ...clips[name], file: path.join(folder, clips[name].file) };
}

/** The samples of a 16-bit WAV file as raw 32-bit floats, in a file that every worker can read. */
export function writeSamples(clip) {
  const wav = readFileSync(clip.file);
  const at = wav.indexOf("data", 12, "latin1");
  const samples = new Int16Array(wav.buffer.slice(wav.byteOffset + at + 8, wav.byteOffset + at + 8 + clip.samples * 2));
  const file = path.join(benchDir, `${path.parse(clip.file).name}.f32`);
  writeAtomic(file, Buffer.from(Float32Array.from(samples, (sample) => sample / 32768).buffer));
  return file;
}

const worker = (name) => inRoot("bench", "workers", name);

/** Processes that are opened, and what each is opened with. Several contestants may share one. */
const ENGINES = {
  pergola: {
    start: () => new Child(process.execPath, [worker("pergola-whisper.mjs")]),
    open: ({ folder }) => ({ model: folder, options: { cache: pergolaCache } }),
  },
  "pergola-int8": {
    start: () => new Child(process.execPath, [worker("pergola-whisper.mjs")]),
    open: ({ folder }) => ({ model: folder, options: { cache: pergolaCache, weights: "int8" } }),
  },
  genai: {
    start: () => new Child(python, [worker("genai-whisper.py")]),
    open: ({ ir }) => ({ model: ir }),
  },
  "genai-exact": {
    start: () => new Child(python, [worker("genai-whisper.py")]),
    open: ({ ir }) => ({ model: ir, properties: { INFERENCE_PRECISION_HINT: "f32" } }),
  },
  "faster-int8": {
    start: () => new Child(python, [worker("faster-whisper.py")]),
    open: ({ folder }) => ({ model: folder, computeType: "int8" }),
  },
  "faster-f32": {
    start: () => new Child(python, [worker("faster-whisper.py")]),
    open: ({ folder }) => ({ model: folder, computeType: "float32" }),
  },
};

/** Ways of transcribing, in the order of the table. */
export const CONTESTANTS = {
  pergola: { engine: "pergola", batchSize: 1, label: "Pergola, sequential" },
  "pergola-batched": { engine: "pergola", batchSize: BATCH, label: "Pergola, batched" },
  "pergola-int8": { engine: "pergola-int8", batchSize: 1, label: "Pergola, weights int8, sequential" },
  "pergola-int8-batched": { engine: "pergola-int8", batchSize: BATCH, label: "Pergola, weights int8, batched" },
  genai: { engine: "genai", batchSize: 1, label: "openvino_genai, defaults" },
  "genai-exact": { engine: "genai-exact", batchSize: 1, label: "openvino_genai, f32" },
  "faster-int8": { engine: "faster-int8", batchSize: 1, label: "faster-whisper int8, sequential" },
  "faster-int8-batched": { engine: "faster-int8", batchSize: BATCH, label: "faster-whisper int8, batched" },
  "faster-f32": { engine: "faster-f32", batchSize: 1, label: "faster-whisper float32, sequential" },
  "faster-f32-batched": { engine: "faster-f32", batchSize: BATCH, label: "faster-whisper float32, batched" },
};

/** The processes of one model, all open at once so that they can take turns. */
export class WhisperEngines {
  #model;
  #open = new Map();

  constructor(name) {
    this.#model = WHISPER_MODELS[name];
  }

  async transcribe(id, clip) {
    const { engine, batchSize } = CONTESTANTS[id];
    const child = await this.#get(engine);
    const { multilingual } = this.#model;
    const request = { command: "transcribe", audio: clip.file, language: clip.language, batchSize, multilingual };
    return child.ask(request);
  }

  async #get(engine) {
    if (!this.#open.has(engine)) {
      const child = ENGINES[engine].start();
      this.#open.set(engine, child);
      await child.ask({ command: "open", ...ENGINES[engine].open(this.#model) });
    }
    return this.#open.get(engine);
  }

  /** Highest memory of the process that a contestant runs in. */
  async peakRssBytes(id) {
    const child = await this.#get(CONTESTANTS[id].engine);
    return (await child.ask({ command: "memory" })).peakRssBytes;
  }

  /** Time of the log-mel spectrogram alone. */
  async mel(samples) {
    return (await this.#get("pergola")).ask({ command: "mel", samples });
  }

  async close() {
    await Promise.all([...this.#open.values()].map((child) => child.close()));
  }
}

/** transformers' log-mel spectrogram. */
export async function openFeatures() {
  const child = new Child(python, [worker("features.py")]);
  await child.ask({ command: "open" });
  return child;
}
