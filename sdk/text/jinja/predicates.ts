import { bind } from "./call-arguments.js";
import type { Test } from "./filter-types.js";
import { calculate, compare, equal, isSame, textOf } from "./operations.js";
import { print } from "./printing.js";
import type { CompareOperator } from "./syntax.js";
import { STRING_METHODS } from "./string-methods.js";
import { NO_NAMES } from "./call-arguments.js";
import {
  Callable,
  Dict,
  DictView,
  isIterable,
  List,
  Markup,
  Range,
  Special,
  Stream,
  Tuple,
  Undefined,
  type Value,
} from "./values.js";

/** Names of the comparisons that are tests, too. */
const COMPARISONS: readonly [CompareOperator, ...string[]][] = [
  ["==", "==", "eq", "equalto"],
  ["!=", "!=", "ne"],
  [">", ">", "gt", "greaterthan"],
  [">=", ">=", "ge"],
  ["<", "<", "lt", "lessthan"],
  ["<=", "<=", "le"],
  ["in", "in"],
];

/** Tests without arguments. */
const SIMPLE: readonly [string, (value: Value) => boolean][] = [
  ["defined", (value) => !(value instanceof Undefined)],
  ["undefined", (value) => value instanceof Undefined],
  ["none", (value) => value === null],
  ["boolean", (value) => typeof value === "boolean"],
  ["true", (value) => value === true],
  ["false", (value) => value === false],
  ["integer", (value) => typeof value === "bigint"],
  ["float", (value) => typeof value === "number"],
  ["number", (value) => ["boolean", "bigint", "number"].includes(typeof value)],
  ["string", (value) => textOf(value) !== undefined],
  ["mapping", (value) => value instanceof Dict],
  ["sequence", isSequence],
  ["iterable", (value) => isIterable(value) || value instanceof Special],
  [
    "callable",
    (value) =>
      value instanceof Callable || (value instanceof Special && value.call !== undefined) || value instanceof Undefined,
  ],
  ["escaped", (value) => value instanceof Markup],
];

/** Jinja2's tests by name. */
export const TESTS: ReadonlyMap<string, Test> = new Map<string, Test>([
  ...SIMPLE.map(([name, holds]): [string, Test] => [name, (value, args) => (bind(name, args, []), holds(value))]),
  ...COMPARISONS.flatMap(([operator, ...names]) =>
    names.map((name): [string, Test] => [
      name,
      (value, args, { budget }) => compare(operator, value, bind(name, args, ["other"], 1)[0]!, budget),
    ]),
  ),
  ["odd", (value, args, { budget }) => (bind("odd", args, []), equal(calculate("%", value, 2n, budget), 1n, budget))],
  ["even", (value, args, { budget }) => (bind("even", args, []), equal(calculate("%", value, 2n, budget), 0n, budget))],
  [
    "divisibleby",
    (value, args, { budget }) =>
      equal(calculate("%", value, bind("divisibleby", args, ["num"], 1)[0]!, budget), 0n, budget),
  ],
  ["sameas", (value, args) => isSame(value, bind("sameas", args, ["other"], 1)[0]!)],
  ["lower", (value, args, { budget }) => cased("islower", print(value, budget), budget)],
  ["upper", (value, args, { budget }) => cased("isupper", print(value, budget), budget)],
  ["filter", (value, _args, { hasFilter }) => typeof value === "string" && hasFilter(value)],
  ["test", (value, _args, { hasTest }) => typeof value === "string" && hasTest(value)],
]);

function cased(method: string, text: string, budget: Parameters<Test>[2]["budget"]): boolean {
  return STRING_METHODS.get(method)!(text, { positional: [], named: NO_NAMES }, budget) === true;
}

/** What has a length and items: Jinja2 tries `len` and `__getitem__`. */
function isSequence(value: Value): boolean {
  if (value instanceof DictView || value instanceof Stream) return false;
  return textOf(value) !== undefined || [List, Tuple, Dict, Range, Undefined].some((each) => value instanceof each);
}
