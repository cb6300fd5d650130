import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { copyFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { throwIfAborted } from "../../../core/abort.js";
import { readJsonObject } from "../../files/json-file.js";
import type { Graph } from "../ir/graph.js";
import { binBytes, bytesBegun, constantBytes } from "../ir/constants-file.js";
import { writeIr, writeIrText } from "../ir/ir-writer.js";
import { keyOfFiles } from "../../files/file-key.js";
import { architectureNamed } from "../models/architectures.js";
import type { Checkpoint, ConversionFacts, PreparedConversion } from "../models/common/architecture.js";
import { DEFAULT_GROUP_SIZE, type WeightFormat, type WeightPlan } from "../ir/weights.js";

/** Goes up whenever the same checkpoint makes other files: conversions in the cache are made anew then. */
const CONVERTER_VERSION = 3;

/** Written last into a folder: lists what belongs to it. */
export const MANIFEST = "pergola-conversion.json";

/** What a conversion is and consists of. */
interface Manifest {
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
 * Stands for all that decides what a conversion holds: the checkpoint's files, how weights are stored, and this converter.
 *
 * @throws ModelError naming files that are missing
 */
export async function conversionKey(checkpoint: Checkpoint, { format, groupSize }: WeightPlan): Promise<string> {
  const files = await architectureNamed(checkpoint.architecture).files(checkpoint);
  const how = format === "int4" ? `int4 ${groupSize ?? DEFAULT_GROUP_SIZE}` : format;
  return keyOfFiles(files, checkpoint.architecture, how, `converter ${CONVERTER_VERSION}`);
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
