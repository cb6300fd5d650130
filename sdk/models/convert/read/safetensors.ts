import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { ModelError, UnsupportedError } from "../../../core/errors.js";
import { readJsonObject } from "../../files/json-file.js";
import { requireFiles } from "./checkpoint-files.js";
import { bytesOf, elementCount, type ElementType } from "./element-type.js";
import { SourceFile } from "./source-file.js";
import { rowsOf, type TensorInfo, type TensorSource } from "./tensor-source.js";

/** As large as the reference implementation allows. */
const MAX_HEADER_BYTES = 100_000_000;
const INDEX = "model.safetensors.index.json";

const TYPES: Record<string, ElementType> = {
  ...{ F32: "f32", F16: "f16", BF16: "bf16" },
  ...{ I8: "i8", U8: "u8", I16: "i16", I32: "i32", I64: "i64", BOOL: "boolean" },
} as const;

interface Placed extends TensorInfo {
  source: SourceFile;
  /** Bytes from the start of the file. */
  offset: number;
}

/** The safetensors files of a folder, single or sharded. */
export class SafetensorsSource implements TensorSource {
  readonly path: string;
  readonly tensors: ReadonlyMap<string, Placed>;
  readonly #files: SourceFile[];

  private constructor(path: string, tensors: Map<string, Placed>, files: SourceFile[]) {
    this.path = path;
    this.tensors = tensors;
    this.#files = files;
  }

  /**
   * Opens `model.safetensors`, or all shards that `model.safetensors.index.json` names.
   *
   * @throws ModelError naming the file that is missing or damaged
   * @throws UnsupportedError for tensor types that are not known
   */
  static async open(folder: string): Promise<SafetensorsSource> {
    const { paths, map } = await findSafetensors(folder);
    const files: SourceFile[] = [];
    const tensors = new Map<string, Placed>();
    try {
      for (const path of paths) {
        const source = await SourceFile.open(path);
        files.push(source);
        for (const tensor of await readHeader(source)) {
          if (map !== undefined && map.get(tensor.name) !== basename(path)) continue;
          tensors.set(tensor.name, tensor);
        }
      }
      const lost = [...(map?.keys() ?? [])].find((name) => !tensors.has(name));
      if (lost !== undefined) {
        throw new ModelError(
          `${join(folder, map!.get(lost)!)} has no tensor "${lost}", although ${INDEX} says so. Fetch the folder again.`,
          { file: join(folder, map!.get(lost)!) },
        );
      }
      return new SafetensorsSource(folder, tensors, files);
    } catch (error) {
      await Promise.all(files.map((file) => file.close()));
      throw error;
    }
  }

  async read(name: string, firstRow: number, rowCount: number): Promise<Uint8Array> {
    const { source, offset, shape, type } = this.tensors.get(name)!;
    const rowBytes = rowsOf(shape).rowLength * bytesOf(type);
    return source.read(offset + firstRow * rowBytes, rowCount * rowBytes);
  }

  async close(): Promise<void> {
    await Promise.all(this.#files.map((file) => file.close()));
  }
}

/**
 * Names the weight files of a checkpoint folder.
 *
 * @returns the files, and which of them holds each tensor where an index tells
 * @throws ModelError naming all that are missing
 */
export async function findSafetensors(folder: string): Promise<{ paths: string[]; map?: Map<string, string> }> {
  const index = await readJsonObject(join(folder, INDEX));
  const whole = join(folder, "model.safetensors");
  if (index === undefined || (await stat(whole).catch(() => undefined))) {
    await requireFiles(folder, ["model.safetensors"], "Fetch the missing files");
    return { paths: [whole] };
  }
  const weightMap = index["weight_map"];
  if (typeof weightMap !== "object" || weightMap === null) {
    throw new ModelError(`${join(folder, INDEX)} has no "weight_map". Fetch the file again.`, {
      file: join(folder, INDEX),
    });
  }
  const map = new Map<string, string>();
  for (const [tensor, file] of Object.entries(weightMap as Record<string, unknown>)) {
    // A shard lies beside the index; a name that leads elsewhere is refused rather than followed.
    if (typeof file !== "string" || file === "" || basename(file) !== file || file.includes("\0")) {
      throw new ModelError(`${join(folder, INDEX)} names no usable file for "${tensor}": ${JSON.stringify(file)}.`, {
        file: join(folder, INDEX),
      });
    }
    map.set(tensor, file);
  }
  const names = [...new Set(map.values())].sort();
  await requireFiles(folder, names, "Fetch the missing files");
  return { paths: names.map((name) => join(folder, name)), map };
}

async function readHeader(source: SourceFile): Promise<Placed[]> {
  if (source.size < 8) source.fail(`a safetensors file has at least 8 bytes, this one ${source.size}`);
  const length = Number(new DataView((await source.read(0, 8)).buffer).getBigUint64(0, true));
  if (length > MAX_HEADER_BYTES) source.fail("not a safetensors file (its header has an impossible length)");
  if (8 + length > source.size) {
    source.fail(
      `its header says ${length} bytes, but the file has only ${source.size}; it is truncated, fetch it again`,
    );
  }
  const text = Buffer.from(await source.read(8, length)).toString("utf8");
  let header: unknown;
  try {
    header = JSON.parse(text);
  } catch (cause) {
    throw new ModelError(`${source.path}: the header is not valid JSON; the file is damaged or no safetensors file.`, {
      file: source.path,
      cause,
    });
  }
  if (typeof header !== "object" || header === null || Array.isArray(header))
    source.fail("the header is no JSON object");
  const twice = repeatedField(text);
  if (twice !== undefined) source.fail(`the header has the field "${twice}" twice in one entry; the file is damaged`);
  const tensors = Object.entries(header)
    .filter(([name]) => name !== "__metadata__")
    .map(([name, entry]) => readEntry(source, name, entry, 8 + length));
  checkPlaces(source, tensors, 8 + length);
  return tensors;
}

/**
 * A field that stands twice in the entry of one tensor, where `JSON.parse` would keep the last in silence. An entry that stands
 * twice as a whole shows by the hole that it leaves. The reference library refuses both.
 *
 * @param text - valid JSON
 */
function repeatedField(text: string): string | undefined {
  const fields: Set<string>[] = [];
  let last = "";
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}:]/g)) {
    if (token === "{") fields.push(new Set());
    else if (token === "}") fields.pop();
    else if (token !== ":") last = token;
    else if (fields.length === 2) {
      const name = JSON.parse(last) as string;
      if (fields[1]!.has(name)) return name;
      fields[1]!.add(name);
    }
  }
  return undefined;
}

function readEntry(source: SourceFile, name: string, entry: unknown, start: number): Placed {
  const { dtype, shape, data_offsets: offsets } = (entry ?? {}) as Record<string, unknown>;
  const isLength = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
  if (typeof dtype !== "string" || !Array.isArray(shape) || !shape.every(isLength)) {
    source.fail(`the entry of tensor "${name}" is damaged`);
  }
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isLength)) {
    source.fail(`tensor "${name}" has no valid data_offsets`);
  }
  const type = TYPES[dtype];
  if (type === undefined) {
    throw new UnsupportedError(
      `${source.path}: tensor "${name}" has the type ${dtype}, which cannot be converted ` +
        "(F32, F16 and BF16 weights can). Use a checkpoint that is not quantized.",
      { subject: `tensor type ${dtype}` },
    );
  }
  const [from, to] = offsets as [number, number];
  const bytes = elementCount(shape) * bytesOf(type);
  if (to - from !== bytes) {
    source.fail(`tensor "${name}" takes ${to - from} bytes by its offsets, but ${bytes} by its shape and type`);
  }
  if (start + to > source.size) {
    source.fail(
      `tensor "${name}" ends at byte ${start + to}, but the file has only ${source.size}; it is truncated, fetch it again`,
    );
  }
  return { name, shape, type, file: source.path, source, offset: start + from };
}

/** The format leaves neither gaps nor room for two tensors in one place, and nothing comes after the last one. */
function checkPlaces(source: SourceFile, tensors: Placed[], start: number): void {
  const sizeOf = ({ shape, type }: Placed): number => elementCount(shape) * bytesOf(type);
  // What is empty stands before what begins in the same place.
  const placed = [...tensors].sort((one, other) => one.offset - other.offset || sizeOf(one) - sizeOf(other));
  let end = start;
  let before = "the header";
  for (const tensor of placed) {
    const { name, offset } = tensor;
    if (offset < end) source.fail(`tensors ${before} and "${name}" overlap; the file is damaged`);
    if (offset > end) source.fail(unused(offset - end, `between ${before} and tensor "${name}"`));
    end = offset + sizeOf(tensor);
    before = `"${name}"`;
  }
  if (end < source.size) source.fail(unused(source.size - end, `after ${before}`));
}

function unused(bytes: number, where: string): string {
  return `${bytes} bytes ${where} belong to no tensor, or a tensor stands in the header twice; the file is damaged`;
}
