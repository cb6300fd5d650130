import { OptionError } from "../../core/errors.js";
import { showValue } from "../../core/validate.js";
import { Dict, List, orElse, type Value } from "./values.js";

/** Where `json.loads` would give a float: JavaScript prints these with an exponent. */
const FIRST_FLOAT = 1e21;
const DEEPEST = 500;

/**
 * A value of JavaScript as a template sees it, as Python would read it from JSON: whole numbers are `int`. Fields that are
 * `undefined` are left out. `undefined` gives `undefined`.
 *
 * @param path - names the value in the error for what templates cannot hold
 * @throws OptionError
 */
export function fromJavaScript(value: unknown, path: string, depth = 0): Value | undefined {
  // eslint-disable-next-line @typescript-eslint/switch-exhaustiveness-check
  switch (typeof value) {
    case "string":
    case "boolean":
    case "bigint":
      return value;
    case "number":
      return Number.isInteger(value) && Math.abs(value) < FIRST_FLOAT ? BigInt(value) : value;
    case "undefined":
      return undefined;
    case "object":
      if (value === null) return null;
      if (depth >= DEEPEST) throw refusal(value, path, "a value that is not nested so deeply, or in itself");
      if (Array.isArray(value)) {
        return new List(
          value.map((entry, index) => orElse(fromJavaScript(entry, `${path}[${index}]`, depth + 1), () => null)),
        );
      }
      if (value instanceof Map) return dictOf(value.entries(), path, depth);
      if (isPlain(value)) return dictOf(Object.entries(value), path, depth);
  }
  throw refusal(value, path, "text, a number, a boolean, null, an array or a plain object");
}

function dictOf(entries: Iterable<[unknown, unknown]>, path: string, depth: number): Dict {
  const dict = new Dict();
  for (const [key, entry] of entries) {
    const value = fromJavaScript(entry, `${path}.${String(key)}`, depth + 1);
    if (value !== undefined)
      dict.set(
        orElse(fromJavaScript(key, `a key of ${path}`, depth + 1), () => null),
        value,
      );
  }
  return dict;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  // Objects of another realm (tests, vm contexts) have another Object.prototype; that has no prototype itself.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function refusal(received: unknown, path: string, expected: string): OptionError {
  return new OptionError(`${path} must be ${expected}, received ${showValue(received)}.`, { path, expected, received });
}
