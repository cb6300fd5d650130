import { bind } from "./call-arguments.js";
import type { Filter } from "./filter-types.js";
import { escapeHtml, indexOf, numberOf, sizeOf, textOf } from "./operations.js";
import { formatPercent } from "./percent-format.js";
import { print, toJson } from "./printing.js";
import { SEQUENCE_FILTERS } from "./sequence-filters.js";
import { TEXT_FILTERS } from "./text-filters.js";
import { TemplateError, typeError, unsupported } from "./template-errors.js";
import { attributeOf } from "./members.js";
import { order } from "./operations.js";
import { Dict, List, Markup, Tuple, truth, typeOf, Undefined, type Value } from "./values.js";

function absolute(value: Value): Value {
  if (value instanceof Undefined) throw value.error();
  const number = numberOf(value);
  if (number === undefined) throw typeError(`bad operand type for abs(): '${typeOf(value)}'`);
  return typeof number === "bigint" ? (number < 0n ? -number : number) : Math.abs(number);
}

const attr: Filter = (value, args, { budget }) => {
  const [name] = bind("attr", args, ["name"], 1);
  const attribute = print(name!, budget);
  if (value instanceof Undefined) throw value.error();
  // Attributes only: an item of this name does not count.
  if (value instanceof Dict && value.has(attribute)) {
    return attributeOf(new Dict(), attribute, budget);
  }
  return attributeOf(value, attribute, budget);
};

const otherwise: Filter = (value, args) => {
  const [replacement = "", boolean = false] = bind("default", args, ["default_value", "boolean"]);
  return value instanceof Undefined || (truth(boolean) && !truth(value)) ? replacement : value;
};

const escape: Filter = (value, _args, { budget }) =>
  value instanceof Markup ? value : new Markup(escapeHtml(print(value, budget)));

const format: Filter = (value, args, { budget }) => {
  if (args.positional.length > 0 && args.named.size > 0) {
    throw new TemplateError("FilterArgumentError", "can't handle positional and keyword arguments at the same time");
  }
  const values = args.named.size > 0 ? new Dict(args.named) : new Tuple(args.positional);
  return formatPercent(print(value, budget), values, budget);
};

const INTEGER_TEXT = /^[-+]?\d+(?:_\d+)*$/;
const FLOAT_TEXT = /^[-+]?(?:(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:e[-+]?\d+)?|inf|infinity|nan)$/i;

function floatOf(value: Value): number | undefined {
  const number = numberOf(value);
  if (number !== undefined) return Number(number);
  const text = textOf(value)?.trim().replaceAll("_", "");
  if (text === undefined || !FLOAT_TEXT.test(text)) return undefined;
  if (/inf/i.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  return Number(text);
}

const toFloat: Filter = (value, args) => {
  const [fallback = 0] = bind("float", args, ["default"]);
  if (value instanceof Undefined) throw value.error();
  return floatOf(value) ?? fallback;
};

const toInteger: Filter = (value, args, { budget }) => {
  const [fallback = 0n, base = 10n] = bind("int", args, ["default", "base"]);
  if (value instanceof Undefined) throw value.error();
  const text = textOf(value)?.trim();
  if (text !== undefined) {
    const radix = indexOf(base);
    budget.characters(text.length * 16);
    if (text.length > 4300) return fallback;
    if (radix === 10 && INTEGER_TEXT.test(text)) return BigInt(text.replaceAll("_", "").replace(/^\+/, "")) * 1n;
    if (radix !== 10) {
      const parsed = parseInteger(text, radix);
      if (parsed !== undefined) return parsed;
    }
  }
  const float = typeof value === "bigint" ? value : floatOf(value);
  if (typeof float === "bigint") return float;
  return float === undefined || !Number.isFinite(float) ? fallback : BigInt(Math.trunc(float));
};

function parseInteger(text: string, radix: number): bigint | undefined {
  const match = /^([-+]?)(0[xob])?([\da-z]+(?:_[\da-z]+)*)$/i.exec(text);
  if (!match) return undefined;
  const prefixes: Record<string, number> = { "0x": 16, "0o": 8, "0b": 2 };
  const own = match[2] === undefined ? undefined : prefixes[match[2].toLowerCase()];
  if (radix === 0 || (own !== undefined && own !== radix)) throw unsupported(`"int" with base ${radix} of ${text}`);
  let value = 0n;
  for (const digit of match[3]!.replaceAll("_", "")) {
    const number = parseInt(digit, 36);
    if (number >= radix) return undefined;
    value = value * BigInt(radix) + BigInt(number);
  }
  return match[1] === "-" ? -value : value;
}

const round: Filter = (value, args) => {
  const [precision = 0n, method = "common"] = bind("round", args, ["precision", "method"]);
  if (method !== "common" && method !== "ceil" && method !== "floor") {
    throw new TemplateError("FilterArgumentError", "method must be common, ceil or floor");
  }
  if (value instanceof Undefined) throw value.error();
  const number = numberOf(value);
  if (number === undefined) throw typeError(`type ${typeOf(value)} doesn't define __round__ method`);
  const digits = indexOf(precision);
  const scale = 10 ** digits;
  if (method === "ceil") return Math.ceil(Number(number) * scale) / scale;
  if (method === "floor") return Math.floor(Number(number) * scale) / scale;
  if (typeof number === "bigint") return digits >= 0 ? number : roundedInteger(number, -digits);
  return roundedFloat(number, digits);
};

function roundedInteger(value: bigint, digits: number): bigint {
  const unit = 10n ** BigInt(Math.min(digits, 2000));
  const rest = ((value % unit) + unit) % unit;
  const down = value - rest;
  const isUp = rest * 2n > unit || (rest * 2n === unit && (down / unit) % 2n !== 0n);
  return isUp ? down + unit : down;
}

/** Python's `round`: halves, by the exact binary value, go to the even neighbour. */
function roundedFloat(value: number, digits: number): number {
  if (!Number.isFinite(value) || digits > 20) return value;
  if (digits < 0) {
    const scale = 10 ** -digits;
    return roundedFloat(value / scale, 0) * scale;
  }
  if (Math.abs(value) >= 1e21) return value;
  const up = Number(value.toFixed(digits));
  const halves = value * 10 ** digits;
  if (Math.abs(halves) % 1 !== 0.5 || halves / 10 ** digits !== value) return Object.is(up, 0) && value < 0 ? -0 : up;
  const floor = Math.floor(halves);
  // Only a few decimal halves are exact in binary: n + 0.5, and those over powers of two.
  if (digits > 0 && !Number.isInteger(value * 2 ** (digits + 1))) return up;
  return (floor % 2 === 0 ? floor : floor + 1) / 10 ** digits;
}

const json: Filter = (value, args, { budget }) => {
  const [ascii = false, indent = null, separators = null, sortKeys = false] = bind("tojson", args, [
    "ensure_ascii",
    "indent",
    "separators",
    "sort_keys",
  ]);
  const parts = separators instanceof Tuple || separators instanceof List ? separators.items.map(textOf) : undefined;
  if (separators !== null && (parts?.length !== 2 || parts.includes(undefined))) {
    throw typeError("separators must be a tuple of two texts");
  }
  const width = indent === null ? undefined : (textOf(indent) ?? " ".repeat(boundedIndent(indexOf(indent))));
  return toJson(
    value,
    {
      ensureAscii: truth(ascii),
      indent: width,
      separators: (parts as [string, string] | undefined) ?? (width === undefined ? [", ", ": "] : [",", ": "]),
      sortKeys: truth(sortKeys),
      compare: (left, right) => order(left, right, budget),
    },
    budget,
  );
};

function boundedIndent(width: number): number {
  if (width > 1000) throw unsupported("An indent of more than 1000 spaces");
  return Math.max(0, width);
}

/** Filters that Jinja2 has and chat templates have no use for. */
const REFUSED = "filesizeformat pprint random striptags urlize wordwrap xmlattr".split(" ");

/** Jinja2's filters by name, with the `tojson` of transformers. */
export const FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ...SEQUENCE_FILTERS,
  ...TEXT_FILTERS,
  ["abs", absolute],
  ["attr", attr],
  ["count", (value, args, { budget }) => (bind("count", args, []), BigInt(sizeOf(value, budget)))],
  ["length", (value, args, { budget }) => (bind("length", args, []), BigInt(sizeOf(value, budget)))],
  ["d", otherwise],
  ["default", otherwise],
  ["e", escape],
  ["escape", escape],
  ["float", toFloat],
  ["forceescape", (value, _args, { budget }) => new Markup(escapeHtml(print(value, budget)))],
  ["format", format],
  ["int", toInteger],
  ["round", round],
  ["safe", (value, _args, { budget }) => new Markup(print(value, budget))],
  ["string", (value, _args, { budget }) => (value instanceof Markup ? value : print(value, budget))],
  ["tojson", json],
  ...REFUSED.map((name): [string, Filter] => [
    name,
    () => {
      throw unsupported(`The filter "${name}"`);
    },
  ]),
]);
