import { UnsupportedError } from "../../../core/errors.js";
import { bytesOf, elementCount, type ElementType } from "./element-type.js";
import { SourceFile } from "./source-file.js";
import { rowsOf, type TensorInfo, type TensorSource } from "./tensor-source.js";

const WINDOW_BYTES = 4096;
const MAX_RANK = 8;

/** By the type number of binary version 4 and later. */
const TYPES: readonly ElementType[] = ["f32", "i8", "i16", "i32", "f16", "bf16"];
/** By the element size, which is all that older versions tell. */
const OLD_TYPES: Partial<Record<number, ElementType>> = { 4: "f32", 2: "i16", 1: "i8" };

interface Variable extends TensorInfo {
  offset: number;
}

/**
 * The variables of a CTranslate2 `model.bin` under their own names.
 *
 * The file is a list of variables, each with its values right behind its description, then a list of aliases; only the
 * descriptions are read when it is opened. Binary versions 2 to 6.
 */
export class CTranslate2Source implements TensorSource {
  readonly path: string;
  readonly tensors: ReadonlyMap<string, Variable>;
  /** Kind of model, for example `WhisperSpec`. */
  readonly specification: string;
  readonly binaryVersion: number;
  /** Second names of variables. */
  readonly aliases: ReadonlyMap<string, string>;
  readonly #file: SourceFile;

  private constructor(file: SourceFile, content: Content) {
    this.path = file.path;
    this.#file = file;
    this.tensors = content.variables;
    this.specification = content.specification;
    this.binaryVersion = content.version;
    this.aliases = content.aliases;
  }

  /**
   * @throws ModelError if the file is damaged, truncated or of another format
   * @throws UnsupportedError for binary versions and value types that are not known
   */
  static async open(path: string): Promise<CTranslate2Source> {
    const file = await SourceFile.open(path);
    try {
      return new CTranslate2Source(file, await readContent(file));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async read(name: string, firstRow: number, rowCount: number): Promise<Uint8Array> {
    const { shape, type, offset } = this.tensors.get(name)!;
    const rowBytes = rowsOf(shape).rowLength * bytesOf(type);
    return this.#file.read(offset + firstRow * rowBytes, rowCount * rowBytes);
  }

  /** A variable that is one whole number. */
  async scalar(name: string): Promise<number | undefined> {
    const variable = this.tensors.get(name);
    if (!variable || elementCount(variable.shape) !== 1) return undefined;
    const view = new DataView((await this.read(name, 0, 1)).buffer);
    switch (variable.type) {
      case "i8":
        return view.getInt8(0);
      case "i16":
        return view.getInt16(0, true);
      case "i32":
        return view.getInt32(0, true);
      case "f32":
        return view.getFloat32(0, true);
      default:
        return undefined;
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

interface Content {
  version: number;
  specification: string;
  variables: Map<string, Variable>;
  aliases: Map<string, string>;
}

async function readContent(file: SourceFile): Promise<Content> {
  const reader = new Reader(file);
  const version = await reader.uint32("the version");
  if (version < 1 || version > 255) file.fail("not a CTranslate2 model.bin");
  if (version < 2 || version > 6) {
    throw new UnsupportedError(
      `${file.path}: CTranslate2 binary version ${version} is not supported (2 to 6 are). Convert the model with another version.`,
      { subject: `CTranslate2 binary version ${version}` },
    );
  }
  const specification = await reader.string("the specification's name");
  await reader.uint32("the specification's revision");
  const variables = new Map<string, Variable>();
  const count = await reader.uint32("the number of variables");
  for (let index = 0; index < count; index++) {
    const variable = await readVariable(reader, file, version, index);
    if (variables.has(variable.name)) file.fail(`variable "${variable.name}" occurs twice; the file is damaged`);
    variables.set(variable.name, variable);
  }
  const aliases = new Map<string, string>();
  if (version >= 3) {
    const aliasCount = await reader.uint32("the number of aliases");
    for (let index = 0; index < aliasCount; index++) {
      const alias = await reader.string(`alias ${index}`);
      aliases.set(alias, await reader.string(`the variable of alias "${alias}"`));
    }
  }
  if (reader.position !== file.size) {
    file.fail(
      `${file.size - reader.position} bytes are left behind the last entry; its parts were joined wrongly, or it is damaged`,
    );
  }
  return { version, specification, variables, aliases };
}

async function readVariable(reader: Reader, file: SourceFile, version: number, index: number): Promise<Variable> {
  const name = await reader.string(`the name of variable ${index}`);
  const what = `variable "${name}"`;
  const rank = await reader.uint8(what);
  if (rank > MAX_RANK) file.fail(`${what} has ${rank} dimensions; the file is damaged`);
  const shape: number[] = [];
  for (let axis = 0; axis < rank; axis++) shape.push(await reader.uint32(what));
  const code = await reader.uint8(what);
  const size = await reader.uint32(what);
  const type = version >= 4 ? TYPES[code] : OLD_TYPES[code];
  if (type === undefined) {
    throw new UnsupportedError(`${file.path}: ${what} has values of an unknown type (${code}).`, {
      subject: `tensor type ${code}`,
    });
  }
  const byteLength = version >= 4 ? size : size * code;
  const wanted = elementCount(shape) * bytesOf(type);
  if (byteLength !== wanted)
    file.fail(`${what} has ${byteLength} bytes, but its shape and type make ${wanted}; the file is damaged`);
  const offset = reader.position;
  if (offset + byteLength > file.size) {
    file.fail(
      `it ends inside ${what} (${file.size} bytes, at least ${offset + byteLength} are needed); it is truncated, fetch it again`,
    );
  }
  reader.skip(byteLength);
  return { name, shape, type, file: file.path, offset };
}

/** Reads small values one after another, through a window of some kilobytes. */
class Reader {
  readonly #file: SourceFile;
  #window = new DataView(new ArrayBuffer(0));
  #start = 0;
  position = 0;

  constructor(file: SourceFile) {
    this.#file = file;
  }

  skip(length: number): void {
    this.position += length;
  }

  async uint8(what: string): Promise<number> {
    const at = await this.#take(1, what);
    return this.#window.getUint8(at);
  }

  async uint32(what: string): Promise<number> {
    const at = await this.#take(4, what);
    return this.#window.getUint32(at, true);
  }

  /** Length with the closing NUL in two bytes, then the characters. */
  async string(what: string): Promise<string> {
    const start = await this.#take(2, what);
    const length = this.#window.getUint16(start, true);
    if (length === 0) this.#file.fail(`${what} is damaged; not a CTranslate2 model.bin, or a damaged one`);
    const at = await this.#take(length, what);
    const bytes = Buffer.from(this.#window.buffer, at, length);
    if (bytes.indexOf(0) !== length - 1)
      this.#file.fail(`${what} is damaged; not a CTranslate2 model.bin, or a damaged one`);
    return bytes.toString("utf8", 0, length - 1);
  }

  /** Makes sure that the bytes are in the window and moves on; returns their place in it. */
  async #take(length: number, what: string): Promise<number> {
    const { size } = this.#file;
    if (this.position + length > size) {
      this.#file.fail(`it ends inside ${what} (${size} bytes); it is truncated, fetch it again`);
    }
    if (this.position < this.#start || this.position + length > this.#start + this.#window.byteLength) {
      const bytes = await this.#file.read(
        this.position,
        Math.min(Math.max(length, WINDOW_BYTES), size - this.position),
      );
      this.#window = new DataView(bytes.buffer);
      this.#start = this.position;
    }
    const at = this.position - this.#start;
    this.position += length;
    return at;
  }
}
