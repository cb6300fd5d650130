import { ModelError } from "../../core/errors.js";

type TypedArray =
  Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array | Float32Array | Float64Array;

/** A metadata value. 64-bit integers are numbers where they fit exactly, otherwise bigints. */
export type GgufValue = number | bigint | boolean | string | TypedArray | GgufValue[];

/** Key/value part of a GGUF file, with typed access. A key of the wrong type is a {@link ModelError} naming file and key. */
export class GgufMetadata extends Map<string, GgufValue> {
  readonly #file: string;

  constructor(file: string, entries?: Iterable<[string, GgufValue]>) {
    super();
    this.#file = file;
    for (const [key, value] of entries ?? []) this.set(key, value);
  }

  /** The file the metadata was read from (the first shard of a split model). */
  get file(): string {
    return this.#file;
  }

  string(key: string): string | undefined {
    const value = this.get(key);
    return value === undefined || typeof value === "string" ? value : this.#refuse(key, "a string", value);
  }

  number(key: string): number | undefined {
    const value = this.get(key);
    return value === undefined || typeof value === "number" ? value : this.#refuse(key, "a number", value);
  }

  boolean(key: string): boolean | undefined {
    const value = this.get(key);
    return value === undefined || typeof value === "boolean" ? value : this.#refuse(key, "a boolean", value);
  }

  strings(key: string): string[] | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (!Array.isArray(value) || (value.length > 0 && typeof value[0] !== "string")) {
      return this.#refuse(key, "a list of strings", value);
    }
    return value as string[];
  }

  numbers(key: string): ArrayLike<number> | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (ArrayBuffer.isView(value)) return value;
    if (!Array.isArray(value) || value.some((entry) => typeof entry !== "number")) {
      return this.#refuse(key, "a list of numbers", value);
    }
    return value as number[];
  }

  #refuse(key: string, expected: string, value: GgufValue): never {
    const found = typeof value === "object" ? "a list" : typeof value;
    throw new ModelError(`${this.#file}: metadata key "${key}" should be ${expected}, found ${found}.`, {
      file: this.#file,
    });
  }
}
