import type { Budget } from "./budget.js";
import { typeError, unsupported, valueError } from "./template-errors.js";
import { reprFloat, reprText } from "./text.js";
import {
  Dict,
  DictView,
  List,
  Markup,
  Namespace,
  Range,
  Stream,
  Tuple,
  typeOf,
  Undefined,
  type Value,
} from "./values.js";

/** Python's `str`: what a template prints. */
export function print(value: Value, budget: Budget): string {
  if (typeof value === "string") return value;
  if (value instanceof Undefined) return "";
  if (value instanceof Markup) return value.text;
  return repr(value, budget);
}

/** Python's `repr`. */
export function repr(value: Value, budget: Budget): string {
  budget.spend(1);
  if (value === null) return "None";
  // eslint-disable-next-line @typescript-eslint/switch-exhaustiveness-check
  switch (typeof value) {
    case "boolean":
      return value ? "True" : "False";
    case "bigint":
      return printInteger(value, budget);
    case "number":
      return reprFloat(value);
    case "string":
      budget.characters(value.length * 4);
      return reprText(value);
  }
  const joined = (items: Iterable<Value>): string => {
    const parts: string[] = [];
    let length = 0;
    for (const item of items) {
      parts.push(repr(item, budget));
      length += parts.at(-1)!.length + 2;
    }
    budget.characters(length);
    return parts.join(", ");
  };
  if (value instanceof List) return `[${joined(value.items)}]`;
  if (value instanceof Tuple) {
    if (value.names) return `(${joined(value.items)})`;
    return `(${joined(value.items)}${value.items.length === 1 ? "," : ""})`;
  }
  if (value instanceof Dict) return reprEntries(value.entries(), budget);
  if (value instanceof DictView) return `${value.type}([${joined(value.values())}])`;
  if (value instanceof Range) {
    return `range(${value.start}, ${value.stop}${value.step === 1 ? "" : `, ${value.step}`})`;
  }
  if (value instanceof Namespace) return `<Namespace ${reprEntries(value.attributes, budget)}>`;
  if (value instanceof Undefined) return "Undefined";
  if (value instanceof Markup) return `Markup(${reprText(value.text)})`;
  if (value instanceof Stream) {
    throw unsupported(`Printing a ${value.type} (Python prints its address in memory; "| list" makes it a list)`);
  }
  throw unsupported(`Printing a ${value.type} (Python prints its address in memory)`);
}

function reprEntries(entries: Iterable<[Value, Value]>, budget: Budget): string {
  const parts: string[] = [];
  let length = 0;
  for (const [key, value] of entries) {
    parts.push(`${repr(key, budget)}: ${repr(value, budget)}`);
    length += parts.at(-1)!.length + 2;
  }
  budget.characters(length);
  return `{${parts.join(", ")}}`;
}

function printInteger(value: bigint, budget: Budget): string {
  const text = value.toString();
  if (text.length > 4301) throw valueError("Exceeds the limit (4300 digits) for integer string conversion");
  budget.characters(text.length * 16);
  return text;
}

export interface JsonStyle {
  ensureAscii: boolean;
  indent: string | undefined;
  separators: readonly [item: string, key: string];
  sortKeys: boolean;
  /** Order of keys, which may be unsortable. */
  compare(left: Value, right: Value): number;
}

/** Python's `json.dumps`. */
export function toJson(value: Value, style: JsonStyle, budget: Budget, depth = 0): string {
  budget.spend(1);
  if (value === null) return "null";
  // eslint-disable-next-line @typescript-eslint/switch-exhaustiveness-check
  switch (typeof value) {
    case "boolean":
      return value ? "true" : "false";
    case "bigint":
      return printInteger(value, budget);
    case "number":
      return jsonFloat(value);
    case "string":
      budget.characters(value.length);
      return jsonText(value, style.ensureAscii);
  }
  if (value instanceof Markup) return jsonText(value.text, style.ensureAscii);
  const inner = style.indent === undefined ? "" : `\n${style.indent.repeat(depth + 1)}`;
  const outer = style.indent === undefined ? "" : `\n${style.indent.repeat(depth)}`;
  const [comma, colon] = style.separators;
  const enclosed = (parts: string[], open: string, close: string): string => {
    if (parts.length === 0) return open + close;
    budget.characters(parts.reduce((sum, each) => sum + each.length + comma.length + inner.length, 0));
    return open + inner + parts.join(comma + inner) + outer + close;
  };
  if (value instanceof List || value instanceof Tuple) {
    return enclosed(
      value.items.map((item) => toJson(item, style, budget, depth + 1)),
      "[",
      "]",
    );
  }
  if (value instanceof Dict) {
    let entries = [...value.entries()];
    if (style.sortKeys) entries = entries.sort(([left], [right]) => style.compare(left, right));
    return enclosed(
      entries.map(
        ([key, entry]) =>
          jsonText(jsonKey(key, budget), style.ensureAscii) + colon + toJson(entry, style, budget, depth + 1),
      ),
      "{",
      "}",
    );
  }
  throw typeError(`Object of type ${typeOf(value)} is not JSON serializable`);
}

function jsonKey(key: Value, budget: Budget): string {
  if (typeof key === "string") return key;
  if (key === null) return "null";
  if (typeof key === "boolean") return key ? "true" : "false";
  if (typeof key === "bigint") return printInteger(key, budget);
  if (typeof key === "number") return jsonFloat(key);
  if (key instanceof Markup) return key.text;
  throw typeError(`keys must be str, int, float, bool or None, not ${typeOf(key)}`);
}

function jsonFloat(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Infinity" : "-Infinity";
  return reprFloat(value);
}

const JSON_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\f", "\\f"],
  ["\b", "\\b"],
]);

function jsonText(text: string, ensureAscii: boolean): string {
  const escaped = (character: string): string =>
    JSON_ESCAPES.get(character) ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  // By UTF-16 units, as json.dumps writes what is not ASCII.
  // eslint-disable-next-line no-control-regex
  return `"${text.replace(ensureAscii ? /["\\]|[^ -~]/g : /["\\\u0000-\u001f]/g, escaped)}"`;
}
