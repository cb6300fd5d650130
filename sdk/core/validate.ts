import { distance } from "fastest-levenshtein";
import type { z } from "zod";
import { OptionError } from "./errors.js";
import { OPTION_ALIASES, OPTION_PLACES } from "./option-aliases.js";
import { describeExpected, keysAt, schemaAt } from "./schema-walk.js";

const LONGEST_VALUE_SHOWN = 80;

type Issue = z.core.$ZodIssue;

/**
 * Checks a value that a caller passed against its schema.
 *
 * @param path - name of the value as the caller knows it; empty for the options object of a call
 * @returns the parsed value
 * @throws OptionError naming the option, what was expected and what came, with zod's error as `cause`
 */
export function parseOptions<Schema extends z.ZodType>(schema: Schema, value: unknown, path = ""): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw toOptionError(parsed.error, path, value, schema);
}

/**
 * Turns zod's error into the SDK's. Only the first problem is told; zod's list of all of them is the `cause`.
 *
 * @param path - name of the value that was parsed
 * @param received - the value that was parsed
 * @param schema - lets the message suggest option names and use the schema's own descriptions
 */
export function toOptionError(error: z.ZodError, path: string, received: unknown, schema?: z.ZodType): OptionError {
  const { issue, at } = deepest(error.issues[0]!, []);
  const optionPath = joinPath(path, at);
  const value = valueAt(received, at);
  if (issue.code === "unrecognized_keys") {
    const key = issue.keys[0]!;
    return unknownOption(
      key,
      optionPath,
      schema ? keysAt(schema, at) : [],
      (value as Record<string, unknown>)[key],
      error,
    );
  }
  const expected = describeExpected(issue, schema ? schemaAt(schema, at) : undefined);
  const remedy =
    value === null && mayBeLeftOut(schema, path, at) ? " Leave it out (or pass undefined) to keep the default." : "";
  const subject = optionPath === "" ? "The options" : optionPath;
  return new OptionError(`${subject} must be ${expected}, received ${showValue(value)}.${remedy}`, {
    path: optionPath,
    expected,
    received: value,
    cause: error,
  });
}

/** Shows a value in an error message: quoted, short, never throwing. */
export function showValue(value: unknown): string {
  if (typeof value === "string") return shorten(JSON.stringify(value));
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return `a function`;
  if (typeof value === "symbol") return value.toString();
  if (typeof value !== "object" || value === null) return String(value);
  // Objects without a prototype have no constructor.
  const name = (value.constructor as { name: string } | undefined)?.name;
  if (!Array.isArray(value) && name !== undefined && name !== "Object") return `an object of class ${name}`;
  try {
    return shorten(JSON.stringify(value));
  } catch {
    return Array.isArray(value) ? "an array" : "an object";
  }
}

/** The known name that an unknown one probably stands for: a name other software uses, or a likely typing error. */
export function suggestName(name: string, known: readonly string[]): string | undefined {
  const alias = OPTION_ALIASES.get(plain(name));
  if (alias !== undefined && known.includes(alias.split(".")[0]!)) return alias;
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length * 0.34)) + 1;
  for (const candidate of known) {
    const steps = distance(plain(name), plain(candidate));
    if (steps < bestDistance && steps < candidate.length) [best, bestDistance] = [candidate, steps];
  }
  return best;
}

function unknownOption(key: string, parent: string, known: string[], received: unknown, cause: unknown): OptionError {
  const path = joinPath(parent, [key]);
  const elsewhere = OPTION_ALIASES.get(plain(key));
  const place = placeOf(key, known);
  const suggestion = place === undefined ? suggestName(key, known) : undefined;
  let advice = known.length > 0 ? ` Known: ${known.join(", ")}.` : "";
  if (place !== undefined) advice = ` ${place}`;
  else if (elsewhere === key) advice = ` It belongs to another call.${advice}`;
  else if (suggestion !== undefined) advice = ` Did you mean "${joinPath(parent, [suggestion])}"?`;
  else if (elsewhere !== undefined) advice = ` The SDK's name for it is "${elsewhere}", which belongs to another call.`;
  return new OptionError(`Unknown option "${path}".${advice}`, {
    path,
    expected: known.length > 0 ? `one of ${known.join(", ")}` : "a known option",
    received,
    suggestion,
    cause,
  });
}

/** Where something lives that is no option of this call by any name. */
function placeOf(key: string, known: readonly string[]): string | undefined {
  const alias = OPTION_ALIASES.get(plain(key));
  if (alias !== undefined && known.includes(alias.split(".")[0]!)) return undefined;
  return OPTION_PLACES.get(plain(key)) ?? OPTION_PLACES.get(plain(alias ?? ""));
}

/** Fields that are optional may be left out, and so may a call's options as a whole. */
function mayBeLeftOut(schema: z.ZodType | undefined, path: string, at: readonly PropertyKey[]): boolean {
  if (path === "" && at.length === 0) return true;
  const field = schema && schemaAt(schema, at);
  return field === undefined || field.safeParse(undefined).success;
}

/** Follows a union into the branch that the value came nearest to. */
function deepest(issue: Issue, base: PropertyKey[]): { issue: Issue; at: PropertyKey[] } {
  const at = [...base, ...issue.path];
  if (issue.code !== "invalid_union") return { issue, at };
  // A branch that failed at the value's own type is not the one that was meant.
  const meant = issue.errors.filter((branch) => branch.length > 0 && !isTypeMismatch(branch[0]!));
  if (meant.length === 1) return deepest(meant[0]![0]!, at);
  return { issue, at };
}

function isTypeMismatch(issue: Issue): boolean {
  return issue.path.length === 0 && (issue.code === "invalid_type" || issue.code === "invalid_value");
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== "object" || current === null) return undefined;
    current = (current as Record<PropertyKey, unknown>)[key];
  }
  return current;
}

function joinPath(base: string, path: readonly PropertyKey[]): string {
  let joined = base;
  for (const key of path) {
    if (typeof key === "number") joined += `[${key}]`;
    else joined += joined === "" ? String(key) : `.${String(key)}`;
  }
  return joined;
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[_\-\s]/g, "");
}

function shorten(text: string): string {
  return text.length > LONGEST_VALUE_SHOWN
    ? `${text.slice(0, LONGEST_VALUE_SHOWN)}… (${text.length} characters)`
    : text;
}
