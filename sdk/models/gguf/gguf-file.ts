import { access, open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ModelError } from "../../core/errors.js";
import { GgufMetadata } from "./gguf-metadata.js";
import { GgufReader } from "./gguf-reader.js";
import { ggmlType } from "./gguf-types.js";

export { GgufMetadata, type GgufValue } from "./gguf-metadata.js";

/** Description of one tensor; its data is not read. */
interface GgufTensor {
  name: string;
  /** ggml's number of the type. */
  type: number;
  /** ggml's name of the type (`Q4_1`, `F16`, ...); `type 37` for one that is not known. */
  typeName: string;
  /** Sizes as they stand in the file: fastest-varying first. */
  dimensions: number[];
  /** Index into {@link GgufFile.files}. */
  file: number;
  /** Bytes from the start of that file to the data. */
  offset: number;
  /** Bytes of data; 0 where the type is not known. */
  byteLength: number;
}

/** Header of a GGUF model, whole or split. */
export interface GgufFile {
  version: number;
  /** Key/values of the first shard. */
  metadata: GgufMetadata;
  tensors: GgufTensor[];
  /** All shards in order; a whole file is a list of one. */
  files: string[];
  /** Bytes of all shards together. */
  fileSize: number;
}

const SHARD_NAME = /^(.*)-(\d{5})-of-(\d{5})(\.gguf)?$/;
const MAX_DIMENSIONS = 4;
const DEFAULT_ALIGNMENT = 32;

/**
 * Reads the header of a GGUF file: metadata and tensor descriptions, not the tensors' data. Any shard of a split model
 * stands for the whole; the others are looked for beside it. The name need not end in `.gguf`.
 *
 * The format is described in ggml's `docs/gguf.md`; versions 2 and 3, little-endian.
 * @throws ModelError naming the file: missing, a shard missing, not GGUF, big-endian, version 1, damaged lengths, or
 * shorter than its tensors need (a download that was cut off).
 */
export async function readGguf(path: string): Promise<GgufFile> {
  const files = await shardsOf(path);
  const headers: Header[] = [];
  for (const [index, file] of files.entries()) headers.push(await readHeader(file, index));
  const first = headers[0]!;
  checkShards(files, headers, path);
  return {
    version: first.version,
    metadata: first.metadata,
    tensors: headers.flatMap((header) => header.tensors),
    files,
    fileSize: headers.reduce((sum, header) => sum + header.fileSize, 0),
  };
}

async function shardsOf(path: string): Promise<string[]> {
  const match = SHARD_NAME.exec(basename(path));
  const count = Number(match?.[3] ?? 1);
  if (!match || count <= 1) return [path];
  const [, stem, , total, suffix = ""] = match;
  const files = Array.from({ length: count }, (_, index) =>
    join(dirname(path), `${stem}-${String(index + 1).padStart(5, "0")}-of-${total}${suffix}`),
  );
  for (const file of files) {
    await access(file).catch((cause: unknown) => {
      throw new ModelError(
        `${file} is missing: the model is split into ${count} files and all of them are needed. Download it, or merge the parts with llama.cpp's llama-gguf-split --merge.`,
        { file, cause },
      );
    });
  }
  return files;
}

/** What the shards say about themselves must agree with how they were found. */
function checkShards(files: string[], headers: Header[], path: string): void {
  const fail = (file: string, problem: string): never => {
    throw new ModelError(`${file}: ${problem}.`, { file });
  };
  const declared = headers[0]!.metadata.number("split.count") ?? 1;
  if (files.length === 1 && declared > 1) {
    fail(
      path,
      `this is one of ${declared} parts of a split model, but its name does not tell where the others are; open it by its name ending in -00001-of-${String(declared).padStart(5, "0")}.gguf`,
    );
  }
  if (files.length === 1) return;
  for (const [index, header] of headers.entries()) {
    const file = files[index]!;
    const count = header.metadata.number("split.count");
    const number = header.metadata.number("split.no");
    if (count !== files.length)
      fail(file, `named as one of ${files.length} parts, but the file says ${count ?? "it is whole"}`);
    if (number !== index) fail(file, `named as part ${index + 1}, but the file says it is part ${(number ?? 0) + 1}`);
  }
  const expected = headers[0]!.metadata.number("split.tensors.count");
  const found = headers.reduce((sum, header) => sum + header.tensors.length, 0);
  if (expected !== undefined && expected !== found)
    fail(files[0]!, `the parts have ${found} tensors together, ${expected} are expected`);
}

interface Header {
  version: number;
  metadata: GgufMetadata;
  tensors: GgufTensor[];
  fileSize: number;
}

async function readHeader(file: string, index: number): Promise<Header> {
  const handle = await open(file, "r").catch((cause: unknown) => {
    throw new ModelError(`${file} cannot be opened: ${(cause as Error).message}.`, { file, cause });
  });
  try {
    const status = await handle.stat();
    if (!status.isFile()) throw new ModelError(`${file} is not a file; pass the path of a .gguf file.`, { file });
    const reader = new GgufReader(handle, file, status.size);
    const version = await readPreamble(reader);
    return { version, ...(await readBody(reader, file, index, status.size)), fileSize: status.size };
  } finally {
    await handle.close();
  }
}

async function readPreamble(reader: GgufReader): Promise<number> {
  if (reader.remaining === 0) reader.fail("the file is empty");
  const magic = (await reader.bytes(4, "the header")).toString("latin1");
  if (magic !== "GGUF") {
    const hint =
      magic === "vers"
        ? "; it looks like a Git LFS pointer, fetch the real file with `git lfs pull`"
        : magic.startsWith("<")
          ? "; it looks like a web page that was saved instead of the file"
          : /^(lmgg|tjgg|fmgg|algg)$/.test(magic)
            ? "; it is in an older ggml format, convert it to GGUF"
            : "";
    reader.fail(`not a GGUF file (it starts with ${JSON.stringify(magic)})${hint}`);
  }
  const version = await reader.uint32("the header");
  if (version !== 0 && (version & 0xffff) === 0)
    reader.fail("this is a big-endian GGUF file; only little-endian files can be read");
  if (version === 1) reader.fail("GGUF version 1 is not supported; convert the model again with a current llama.cpp");
  if (version !== 2 && version !== 3) reader.fail(`GGUF version ${version} is not supported (2 and 3 are)`);
  return version;
}

async function readBody(reader: GgufReader, file: string, index: number, size: number) {
  const tensorCount = await reader.length("the tensor count");
  const keyCount = await reader.length("the metadata count");
  // A key takes 13 bytes at least, a tensor description 24.
  if (keyCount * 13 + tensorCount * 24 > reader.remaining) {
    reader.fail(
      `${keyCount} metadata keys and ${tensorCount} tensors do not fit into ${size} bytes; the file is truncated or damaged`,
    );
  }
  const metadata = new GgufMetadata(file);
  for (let count = 0; count < keyCount; count++) {
    const key = await reader.string(`metadata key ${count}`);
    const type = await reader.uint32(`metadata key "${key}"`);
    if (metadata.has(key)) reader.fail(`metadata key "${key}" occurs twice`);
    metadata.set(key, await reader.value(type, `metadata key "${key}"`));
  }
  const tensors: GgufTensor[] = [];
  for (let count = 0; count < tensorCount; count++) tensors.push(await readTensor(reader, index, count));
  placeTensors(reader, metadata, tensors, size);
  return { metadata, tensors };
}

async function readTensor(reader: GgufReader, file: number, count: number): Promise<GgufTensor> {
  const name = await reader.string(`the name of tensor ${count}`);
  const what = `tensor "${name}"`;
  const rank = await reader.uint32(what);
  if (rank > MAX_DIMENSIONS) reader.fail(`${what} has ${rank} dimensions (at most ${MAX_DIMENSIONS} are possible)`);
  const dimensions: number[] = [];
  for (let axis = 0; axis < rank; axis++) dimensions.push(await reader.length(what));
  const type = await reader.uint32(what);
  const offset = await reader.length(what);
  const known = ggmlType(type);
  let byteLength = 0;
  if (known) {
    const row = dimensions[0] ?? 1;
    if (row % known.blockSize !== 0) {
      reader.fail(
        `${what} has rows of ${row} values, which is not a multiple of the ${known.blockSize} that ${known.name} packs together`,
      );
    }
    byteLength = (dimensions.reduce((product, size) => product * size, 1) / known.blockSize) * known.blockBytes;
  }
  return { name, type, typeName: known?.name ?? `type ${type}`, dimensions, file, offset, byteLength };
}

/** Makes offsets absolute and checks that the file is long enough for every tensor. */
function placeTensors(reader: GgufReader, metadata: GgufMetadata, tensors: GgufTensor[], size: number): void {
  const alignment = metadata.number("general.alignment") ?? DEFAULT_ALIGNMENT;
  if (!Number.isInteger(alignment) || alignment <= 0 || (alignment & (alignment - 1)) !== 0) {
    reader.fail(`general.alignment is ${alignment}, which is not a power of two`);
  }
  const dataStart = Math.ceil(reader.position / alignment) * alignment;
  for (const tensor of tensors) {
    if (tensor.offset % alignment !== 0) reader.fail(`tensor "${tensor.name}" is not aligned to ${alignment} bytes`);
    tensor.offset += dataStart;
    const end = tensor.offset + tensor.byteLength;
    if (end > size) {
      reader.fail(
        `tensor "${tensor.name}" ends at byte ${end}, but the file has only ${size} bytes; it is truncated, download it again`,
      );
    }
  }
}
