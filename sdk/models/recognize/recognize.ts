import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ModelError, UnsupportedError } from "../../core/errors.js";
import type { Checkpoint } from "../convert/models/common/architecture.js";
import { ARCHITECTURES, architectureOfType } from "../convert/models/architectures.js";
import { problemOf, startsWith } from "../files/file-check.js";
import { readJsonObject } from "../files/json-file.js";
import { modelPath } from "../files/model-path.js";
import { CHECKPOINTS, FOREIGN_WEIGHTS, KINDS, type Kind, type PipelineName } from "./kinds.js";
import { missingModel } from "./missing-model.js";

/** One model that a path leads to. */
type Sighting = Pick<Kind, "what" | "format" | "loadedBy" | "advice" | "refused"> & {
  /** The file that shows it, in the folder. */
  shownBy: string;
  /** Where it is one that can be converted. */
  checkpoint?: Checkpoint;
};

/** What a path leads to. */
export interface Recognized {
  /** What was given, as an absolute path. */
  path: string;
  /** The same, or the folder of the file that was given. */
  folder: string;
  /** Names of what is in the folder. */
  names: readonly string[];
  /** At least one; a folder may hold several. The most telling comes first. */
  sightings: readonly Sighting[];
}

/** A file with one of these endings stands for its folder. */
const PART = /\.(xml|bin|safetensors|json)$/i;

/**
 * Finds out what a path leads to, by the tables of `kinds.ts`. Every function that takes a model begins here.
 *
 * @param wanted - what is looked for, for messages: `a Whisper model: …`
 * @throws OptionError if the argument cannot be a path
 * @throws ModelError if there is nothing, or nothing that can be read
 * @throws UnsupportedError for hub ids, and for what no pipeline and no conversion can read
 */
export async function recognize(model: unknown, wanted: string): Promise<Recognized> {
  const path = modelPath(model);
  const found = await stat(path).catch(() => undefined);
  if (!found) throw await missingModel(String(model), path, wanted);
  if (found.isDirectory()) return recognizeFolder(path, path, wanted);
  if (!found.isFile()) throw new ModelError(`${path} is neither a file nor a folder.`, { file: path });
  const problem = await problemOf(path);
  if (problem !== undefined) throw new ModelError(`The model file ${path} is ${problem}.`, { file: path });
  return recognizeFile(path, wanted);
}

async function recognizeFile(path: string, wanted: string): Promise<Recognized> {
  const name = basename(path);
  for (const kind of [...KINDS, ...FOREIGN_WEIGHTS]) {
    // A file of the Hugging Face cache has no ending, so the content counts as well.
    const begins = kind.magic !== undefined && (await startsWith(path, kind.magic));
    if (!begins && (PART.test(name) || !kind.shownBy.test(name))) continue;
    if (kind.refused !== undefined) throw refusal(path, kind, kind.refused);
    return { path, folder: dirname(path), names: [name], sightings: [{ ...kind, shownBy: name }] };
  }
  if (PART.test(name)) return recognizeFolder(dirname(path), path, wanted);
  throw new ModelError(`${path} is no model this SDK can load: pass a model folder or a .gguf file.`, { file: path });
}

async function recognizeFolder(folder: string, path: string, wanted: string): Promise<Recognized> {
  const names = await readdir(folder).catch((cause: unknown) => {
    throw new ModelError(`The model folder ${folder} cannot be read.`, { file: folder, cause });
  });
  const ready = sightingsOf(KINDS, names);
  const refused = ready.length === 1 ? ready[0]!.refused : undefined;
  if (refused !== undefined) throw refusal(join(folder, ready[0]!.shownBy), ready[0]!, refused);
  const sightings = ready.length > 0 ? ready : [await checkpointIn(folder, names, wanted)];
  return { path, folder, names, sightings };
}

function sightingsOf(kinds: readonly Kind[], names: readonly string[]): Sighting[] {
  return kinds.flatMap(({ shownBy: pattern, unless, ...kind }) => {
    const shownBy = names.find((name) => pattern.test(name));
    if (shownBy === undefined || (unless && names.some((name) => unless.test(name)))) return [];
    return [{ ...kind, shownBy }];
  });
}

async function checkpointIn(folder: string, names: readonly string[], wanted: string): Promise<Sighting> {
  const has = (pattern: RegExp): string | undefined => names.find((name) => pattern.test(name));
  const file = join(folder, "config.json");
  const problem = await problemOf(file);
  const config = problem === undefined ? ((await readJsonObject(file)) ?? {}) : {};
  const type = config["model_type"];
  const architecture = architectureOfType(type);
  const { loadedBy = [], published } = CHECKPOINTS[architecture?.name ?? ""] ?? {};
  // CTranslate2's configuration has no model_type; a Whisper folder may hold both.
  if (names.includes("model.bin") && (architecture === undefined || architecture.name === "whisper")) {
    const checkpoint: Checkpoint = { architecture: "whisper", format: "ctranslate2", folder };
    const { loadedBy: pipelines } = CHECKPOINTS["whisper"]!;
    const what = "a CTranslate2 model (Whisper)";
    return { what, format: "ctranslate2", loadedBy: pipelines, shownBy: "model.bin", checkpoint };
  }
  const safetensors = has(/\.safetensors(\.index\.json)?$/);
  const foreign = sightingsOf(FOREIGN_WEIGHTS, names)[0];
  if (safetensors === undefined && foreign?.refused !== undefined) {
    throw refusal(join(folder, foreign.shownBy), foreign, foreign.refused, published);
  }
  if (architecture) {
    if (safetensors === undefined) throw withoutWeights(folder);
    const checkpoint: Checkpoint = { architecture: architecture.name, format: "safetensors", folder };
    const what = `a checkpoint of the kind "${String(type)}"`;
    return { what, format: "safetensors", loadedBy, shownBy: "config.json", checkpoint };
  }
  if (typeof type === "string" || (safetensors !== undefined && problem === undefined))
    throw unknownKind(folder, config);
  if (safetensors !== undefined) {
    throw new ModelError(
      `The checkpoint ${folder} has no config.json that tells what it is: config.json (${problem!}). ` +
        "Fetch the file from the same repository.",
      { file },
    );
  }
  const content =
    names.length === 0 ? "It is empty." : `It holds: ${names.slice(0, 8).join(", ")}${names.length > 8 ? ", …" : ""}.`;
  throw new ModelError(`${folder} holds no model; needed is ${wanted}. ${content}`, { file: folder });
}

/**
 * The model of a folder that a pipeline can load.
 *
 * @param wanted - as for {@link recognize}
 * @throws ModelError naming what is there instead, and what loads that
 */
export function sightingFor(
  pipelines: readonly PipelineName[],
  { path, sightings }: Recognized,
  wanted: string,
): Sighting {
  const found = sightings.find(({ loadedBy }) => pipelines.some((name) => loadedBy.includes(name)));
  if (found) return found;
  const {
    what,
    shownBy,
    loadedBy,
    advice = loadedBy.length > 0 ? `Load it with ${loadedBy.join(" or ")}` : "",
  } = sightings[0]!;
  const remedy = advice === "" ? "" : ` ${advice}.`;
  throw new ModelError(`${path} holds ${what} (${shownBy}), not ${wanted}.${remedy}`, { file: path });
}

function refusal(
  file: string,
  { what, advice }: Pick<Kind, "what" | "advice">,
  subject: string,
  published?: string,
): UnsupportedError {
  const where = published === undefined ? "" : ` (${published})`;
  const remedy = advice ?? `Pass the safetensors checkpoint of the same model${where}`;
  return new UnsupportedError(`${file} holds ${what}. ${remedy}.`, { subject });
}

function withoutWeights(folder: string): ModelError {
  return new ModelError(
    `The checkpoint ${folder} has no weights (model.safetensors). Fetch them from the same repository.`,
    { file: join(folder, "model.safetensors") },
  );
}

/** Names what can be converted, where something else is asked for. */
function unknownKind(folder: string, config: Record<string, unknown>): UnsupportedError {
  const type = config["model_type"];
  const known = ARCHITECTURES.flatMap(({ modelTypes }) => modelTypes).join(", ");
  const what =
    typeof type === "string"
      ? `a checkpoint of the kind "${type}"`
      : "a checkpoint whose config.json tells no model_type";
  const [task, graph] =
    "vision_config" in config
      ? [" --task image-text-to-text", "openvino_language_model.xml"]
      : ["", "openvino_model.xml"];
  return new UnsupportedError(
    `${folder} is ${what}. Checkpoints of these kinds can be converted: ${known}. ` +
      `Export others with optimum-intel (optimum-cli export openvino --model …${task}) and pass the folder with ${graph}.`,
    { subject: typeof type === "string" ? `conversion of ${type}` : "checkpoint conversion" },
  );
}
