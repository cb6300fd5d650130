import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { copyFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { throwIfAborted } from "../../core/abort.js";
import { ModelError, PergolaError } from "../../core/errors.js";
import { readJsonObject } from "../json-file.js";
import type { Graph } from "./graph.js";
import { binBytes, bytesBegun, constantBytes } from "./constants-file.js";
import { writeIr, writeIrText } from "./ir-writer.js";
import type { TensorSource } from "./tensor-source.js";
import { DEFAULT_GROUP_SIZE, type WeightFormat, type WeightPlan } from "./weights.js";

/** Goes up whenever the same checkpoint makes other files: conversions in the cache are made anew then. */
export const CONVERTER_VERSION = 3;

/** Written last into a folder: lists what belongs to it. */
export const MANIFEST = "pergola-conversion.json";

/** All that is to be written for a checkpoint, checked, but without its weights read. */
export interface PreparedConversion {
  /** For example `whisper`. */
  architecture: string;
  plan: WeightPlan;
  /** Graphs by file name without ending. */
  graphs: ReadonlyMap<string, Graph>;
  /** JSON files by name. */
  json: ReadonlyMap<string, unknown>;
  /** Files to be taken over, by name: path of the original. */
  copies: ReadonlyMap<string, string>;
  source: TensorSource;
  facts?: ConversionFacts;
}

/** What a program must know about a language model and its files do not tell. */
export interface ConversionFacts {
  /** Tokens that the graph is right for. */
  contextLength: number;
  /** Why the keys and values must be kept in the model's state; empty where any way of attention will do. */
  statefulReason: string;
  /** What a user may not expect; for `explain()`. */
  notes: string[];
}

/** What a conversion is and consists of. */
export interface Manifest {
  converter: number;
  architecture: string;
  weights: WeightFormat;
  /** Of `int4`. */
  groupSize?: number;
  facts?: ConversionFacts;
  /** `sha256` for all but the weights. */
  files: Record<string, { bytes: number; sha256?: string }>;
}

/**
 * Bytes of constants that a folder still lacks.
 *
 * @param folder - may hold graphs of an earlier attempt
 */
export async function bytesToWrite({ graphs }: PreparedConversion, folder: string): Promise<number> {
  let bytes = 0;
  for (const [name, graph] of graphs) {
    const path = join(folder, name);
    if (!(await hasConstants(graph, path))) bytes += binBytes(graph) - (await bytesBegun(graph, `${path}.bin`));
  }
  return bytes;
}

/** True if a folder holds something to go on with. */
export async function isWorthKeeping({ graphs }: PreparedConversion, folder: string): Promise<boolean> {
  for (const [name, graph] of graphs) {
    const path = join(folder, name);
    if ((await hasConstants(graph, path)) || (await bytesBegun(graph, `${path}.bin`)) > 0) return true;
  }
  return false;
}

/** True if an earlier attempt has written all constants of a graph: the file gets its name when it is complete. */
async function hasConstants(graph: Graph, path: string): Promise<boolean> {
  const found = await stat(`${path}.bin`).catch(() => undefined);
  return found?.size === binBytes(graph);
}

/**
 * Writes a conversion into a folder that is empty, or holds graphs of an earlier attempt, which stay.
 *
 * @returns the names of the files
 * @throws the signal's reason; ModelError if the checkpoint fails; the system's error if the disk does
 */
export async function writeConversion(
  { architecture, plan, graphs, json, copies, facts }: PreparedConversion,
  folder: string,
  { signal, onProgress }: { signal?: AbortSignal | undefined; onProgress?: ((fraction: number) => void) | undefined },
): Promise<string[]> {
  const total = [...graphs.values()].reduce((sum, graph) => sum + constantBytes(graph), 0);
  let written = 0;
  const onBytes = (bytes: number): void => onProgress?.((written += bytes) / total);
  const names: string[] = [];
  for (const [name, content] of json) {
    throwIfAborted(signal);
    await writeFile(join(folder, name), jsonText(content));
    names.push(name);
  }
  for (const [name, original] of copies) {
    throwIfAborted(signal);
    // One of an earlier attempt may be read-only, as its original is.
    await rm(join(folder, name), { force: true });
    await copyFile(original, join(folder, name));
    names.push(name);
  }
  for (const [name, graph] of graphs) {
    throwIfAborted(signal);
    const path = join(folder, name);
    if (await hasConstants(graph, path)) {
      await writeIrText(graph, path);
      onBytes(constantBytes(graph));
    } else {
      await writeIr(graph, path, { signal, onBytes });
    }
    names.push(`${name}.xml`, `${name}.bin`);
  }
  const files: Manifest["files"] = {};
  for (const name of names) files[name] = await describe(join(folder, name));
  const { format: weights, groupSize = DEFAULT_GROUP_SIZE } = plan;
  const manifest: Manifest = {
    ...{ converter: CONVERTER_VERSION, architecture, weights, ...(weights === "int4" && { groupSize }) },
    ...(facts && { facts }),
    files,
  };
  await writeFile(join(folder, MANIFEST), jsonText(manifest));
  throwIfAborted(signal);
  return [...names, MANIFEST];
}

/** The list of a folder that was made by a conversion; `undefined` for others. @throws ModelError for one that is damaged */
export async function readManifest(folder: string): Promise<Manifest | undefined> {
  return (await readJsonObject(join(folder, MANIFEST))) as Manifest | undefined;
}

/** True if a folder holds a conversion by this version, with every file as it was written. */
export async function isComplete(folder: string): Promise<boolean> {
  try {
    const manifest = await readManifest(folder);
    if (manifest?.converter !== CONVERTER_VERSION) return false;
    for (const [name, { bytes, sha256 }] of Object.entries(manifest.files)) {
      const path = join(folder, name);
      if ((await stat(path)).size !== bytes) return false;
      if (sha256 !== undefined && (await hashOf(path)) !== sha256) return false;
    }
    return true;
  } catch {
    return false;
  }
}

async function describe(path: string): Promise<{ bytes: number; sha256?: string }> {
  const { size } = await stat(path);
  // Weights may be gigabytes: their size must do.
  return path.endsWith(".bin") ? { bytes: size } : { bytes: size, sha256: await hashOf(path) };
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** A full disk and the like, in the SDK's terms. */
export function asModelError(error: unknown, folder: string): unknown {
  if (PergolaError.isInstance(error) || typeof (error as NodeJS.ErrnoException | null)?.syscall !== "string")
    return error;
  const { message, code } = error as NodeJS.ErrnoException;
  const remedy =
    code === "ENOSPC"
      ? "Free some space, or choose another folder"
      : "Choose a folder that can be written (for a conversion on loading: the cache option or PERGOLA_CACHE)";
  return new ModelError(`The converted model cannot be written to ${folder}: ${message}. ${remedy}.`, {
    file: folder,
    cause: error,
  });
}
