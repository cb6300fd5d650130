import type { Budget } from "./budget.js";
import { formatPercent } from "./percent-format.js";
import type { BinaryOperator, CompareOperator } from "./syntax.js";
import { TemplateError, TemplateLimit, typeError, unsupported, valueError } from "./template-errors.js";
import { characterAt, compareText, lengthOf, part } from "./text.js";
import {
  Dict,
  DictView,
  isIterable,
  iterate,
  List,
  Markup,
  Range,
  Special,
  Tuple,
  typeOf,
  Undefined,
  type Value,
} from "./values.js";

/** Integers beyond are no use to chat templates, and slow. */
const LARGEST_INTEGER = 1n << 4096n;
const SMALL_INTEGER = 1n << 64n;

/** A number, or `undefined`; booleans count as integers. */
export function numberOf(value: Value): bigint | number | undefined {
  if (typeof value === "boolean") return value ? 1n : 0n;
  return typeof value === "bigint" || typeof value === "number" ? value : undefined;
}

/** An integer as a plain number, for places and counts. @throws TemplateError for other values */
export function indexOf(value: Value, what = `'${typeOf(value)}' object cannot be interpreted as an integer`): number {
  if (value instanceof Undefined) throw value.error();
  const number = numberOf(value);
  if (typeof number !== "bigint") throw typeError(what);
  return Number(number);
}

export function equal(left: Value, right: Value, budget: Budget): boolean {
  budget.spend(1);
  if (left === right) return true;
  const [a, b] = [numberOf(left), numberOf(right)];
  // eslint-disable-next-line eqeqeq
  if (a !== undefined && b !== undefined) return a == b;
  const [leftText, rightText] = [textOf(left), textOf(right)];
  if (leftText !== undefined) return leftText === rightText;
  if ((left instanceof List && right instanceof List) || (left instanceof Tuple && right instanceof Tuple)) {
    const other = right.items;
    return left.items.length === other.length && left.items.every((item, index) => equal(item, other[index]!, budget));
  }
  if (left instanceof Dict && right instanceof Dict) {
    if (left.size !== right.size) return false;
    for (const [key, value] of left.entries()) {
      const other = right.get(key);
      if (other === undefined || !equal(value, other, budget)) return false;
    }
    return true;
  }
  if (left instanceof Range && right instanceof Range) {
    if (left.length !== right.length) return false;
    if (left.length === 0) return true;
    return left.start === right.start && (left.length === 1 || left.step === right.step);
  }
  if (left instanceof DictView && right instanceof DictView) throw unsupported("Comparing views of dicts");
  return left instanceof Undefined && right instanceof Undefined;
}

/** The text of a `str`; markup is one, too. */
export function textOf(value: Value): string | undefined {
  return typeof value === "string" ? value : value instanceof Markup ? value.text : undefined;
}

/** Order: below, at or above 0; NaN where there is none between floats. @throws TemplateError where types have no order */
export function order(left: Value, right: Value, budget: Budget, sign = "<"): number {
  budget.spend(1);
  const [a, b] = [numberOf(left), numberOf(right)];
  // eslint-disable-next-line eqeqeq
  if (a !== undefined && b !== undefined) return a < b ? -1 : a > b ? 1 : a == b ? 0 : NaN;
  const [leftText, rightText] = [textOf(left), textOf(right)];
  if (leftText !== undefined && rightText !== undefined) {
    budget.characters(Math.min(leftText.length, rightText.length));
    return compareText(leftText, rightText);
  }
  if ((left instanceof List && right instanceof List) || (left instanceof Tuple && right instanceof Tuple)) {
    for (const [index, item] of left.items.entries()) {
      if (index >= right.items.length) return 1;
      if (!equal(item, right.items[index]!, budget)) return order(item, right.items[index]!, budget, sign);
    }
    return left.items.length - right.items.length;
  }
  for (const value of [left, right]) if (value instanceof Undefined) throw value.error();
  throw typeError(`'${sign}' not supported between instances of '${typeOf(left)}' and '${typeOf(right)}'`);
}

export function compare(operator: CompareOperator, left: Value, right: Value, budget: Budget): boolean {
  switch (operator) {
    case "==":
      return equal(left, right, budget);
    case "!=":
      return !equal(left, right, budget);
    case "<":
      return order(left, right, budget, operator) < 0;
    case "<=":
      return order(left, right, budget, operator) <= 0;
    case ">":
      return order(left, right, budget, operator) > 0;
    case ">=":
      return order(left, right, budget, operator) >= 0;
    case "in":
      return contains(right, left, budget);
    case "not in":
      return !contains(right, left, budget);
  }
}

export function contains(container: Value, item: Value, budget: Budget): boolean {
  const text = textOf(container);
  if (text !== undefined) {
    const wanted = textOf(item);
    if (wanted === undefined) throw typeError(`'in <string>' requires string as left operand, not ${typeOf(item)}`);
    budget.search(text, wanted);
    return text.includes(wanted);
  }
  if (container instanceof Dict) return container.has(item);
  if (container instanceof DictView && container.type === "dict_keys") return container.dict.has(item);
  if (!isIterable(container)) throw typeError(`argument of type '${typeOf(container)}' is not iterable`);
  const items = iterate(container, budget);
  for (let next = items.next(); !next.done; next = items.next()) if (equal(next.value, item, budget)) return true;
  return false;
}

export function calculate(operator: BinaryOperator, left: Value, right: Value, budget: Budget): Value {
  const [a, b] = [numberOf(left), numberOf(right)];
  if (a !== undefined && b !== undefined) return arithmetic(operator, a, b, budget);
  if (operator === "%" && typeof left === "string") return formatPercent(left, right, budget);
  for (const value of [left, right]) if (value instanceof Undefined) throw value.error();
  const result =
    operator === "+" ? joined(left, right, budget) : operator === "*" ? repeated(left, right, budget) : undefined;
  if (result !== undefined) return result;
  if (left instanceof Markup || right instanceof Markup) throw unsupported(`"${operator}" with escaped text`);
  const shown = operator === "**" ? "** or pow()" : operator;
  throw typeError(`unsupported operand type(s) for ${shown}: '${typeOf(left)}' and '${typeOf(right)}'`);
}

function joined(left: Value, right: Value, budget: Budget): Value | undefined {
  const [a, b] = [textOf(left), textOf(right)];
  if (a !== undefined && b !== undefined) {
    if (typeof left !== "string" || typeof right !== "string") {
      const escaped = (value: Value): string => (value instanceof Markup ? value.text : escapeHtml(value as string));
      return new Markup(escaped(left) + escaped(right));
    }
    budget.characters(a.length + b.length);
    return a + b;
  }
  const isSame = (left instanceof List && right instanceof List) || (left instanceof Tuple && right instanceof Tuple);
  if (!isSame) return undefined;
  budget.items(left.items.length + right.items.length);
  const items = [...left.items, ...right.items];
  return left instanceof List ? new List(items) : new Tuple(items);
}

export function escapeHtml(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (character) => entities[character]!);
}

function repeated(left: Value, right: Value, budget: Budget): Value | undefined {
  const [value, times] = numberOf(left) === undefined ? [left, numberOf(right)] : [right, numberOf(left)];
  if (typeof times !== "bigint") return undefined;
  const count = Math.max(0, Number(times));
  if (typeof value === "string") {
    budget.characters(value.length * count);
    return value.repeat(count);
  }
  if (!(value instanceof List || value instanceof Tuple)) return undefined;
  budget.items(value.items.length * count);
  const items = Array.from(
    { length: value.items.length * count },
    (_, index) => value.items[index % value.items.length]!,
  );
  return value instanceof List ? new List(items) : new Tuple(items);
}

function arithmetic(operator: BinaryOperator, a: bigint | number, b: bigint | number, budget: Budget): Value {
  if (typeof a === "bigint" && typeof b === "bigint" && operator !== "/") return integers(operator, a, b, budget);
  const [x, y] = [toFloat(a), toFloat(b)];
  switch (operator) {
    case "+":
      return x + y;
    case "-":
      return x - y;
    case "*":
      return x * y;
    case "/":
      if (y === 0)
        throw division(typeof a === "bigint" && typeof b === "bigint" ? "division by zero" : "float division by zero");
      return x / y;
    case "//":
    case "%": {
      if (y === 0) throw division(operator === "%" ? "float modulo" : "float floor division by zero");
      let rest = x % y;
      let whole = (x - rest) / y;
      if (rest !== 0 && rest < 0 !== y < 0) {
        rest += y;
        whole--;
      }
      if (operator === "%") return rest === 0 ? (y < 0 ? -0 : 0) : rest;
      return whole - Math.floor(whole) > 0.5 ? Math.floor(whole) + 1 : Math.floor(whole);
    }
    case "**": {
      if (x === 0 && y < 0) throw division("0.0 cannot be raised to a negative power");
      if (x < 0 && Number.isFinite(x) && Number.isFinite(y) && !Number.isInteger(y))
        throw unsupported("A complex number");
      // Python's 1 ** nan and (-1) ** inf are 1, JavaScript's are not.
      if (x === 1 || (x === -1 && Math.abs(y) === Infinity)) return 1;
      const power = x ** y;
      if (!Number.isFinite(power) && Number.isFinite(x) && Number.isFinite(y)) {
        throw new TemplateError("OverflowError", "(34, 'Numerical result out of range')");
      }
      return power;
    }
  }
}

function toFloat(value: bigint | number): number {
  const number = Number(value);
  if (typeof value === "bigint" && !Number.isFinite(number)) {
    throw new TemplateError("OverflowError", "int too large to convert to float");
  }
  return number;
}

function division(message: string): TemplateError {
  return new TemplateError("ZeroDivisionError", message);
}

function integers(operator: Exclude<BinaryOperator, "/">, a: bigint, b: bigint, budget: Budget): Value {
  if (a > SMALL_INTEGER || a < -SMALL_INTEGER || b > SMALL_INTEGER || b < -SMALL_INTEGER) budget.spend(50);
  switch (operator) {
    case "+":
      return bounded(a + b);
    case "-":
      return bounded(a - b);
    case "*":
      return bounded(a * b);
    case "//":
    case "%": {
      if (b === 0n) throw division(operator === "%" ? "integer modulo by zero" : "integer division or modulo by zero");
      const rest = a % b;
      const isMixed = rest !== 0n && rest < 0n !== b < 0n;
      if (operator === "%") return isMixed ? rest + b : rest;
      return isMixed ? a / b - 1n : a / b;
    }
    case "**": {
      if (b < 0n) return arithmetic("**", toFloat(a), toFloat(b), budget);
      if (a * a > 1n && BigInt(a.toString(2).length) * b > 8192n) throw tooLarge();
      budget.spend(50);
      return bounded(a ** b);
    }
  }
}

function bounded(value: bigint): bigint {
  if (value > LARGEST_INTEGER || value < -LARGEST_INTEGER) throw tooLarge();
  return value;
}

function tooLarge(): TemplateLimit {
  return new TemplateLimit("it calculates with integers of more than 1,200 digits");
}

export function negated(value: Value, sign: "-" | "+"): Value {
  if (value instanceof Undefined) throw value.error();
  const number = numberOf(value);
  if (number === undefined) throw typeError(`bad operand type for unary ${sign}: '${typeOf(value)}'`);
  return sign === "-" ? -number : number;
}

/** `object[index]`, `undefined` where there is nothing; wrong kinds of indices count so too, as in Jinja2. */
export function itemOf(object: Value, index: Value, budget: Budget): Value | undefined {
  if (object instanceof Dict) {
    try {
      return object.get(index);
    } catch {
      return undefined;
    }
  }
  const number = numberOf(index);
  if (typeof number !== "bigint") return undefined;
  const at = Number(number);
  const text = textOf(object);
  if (text !== undefined) {
    budget.characters(text.length * 3);
    return characterAt(text, at);
  }
  if (object instanceof List || object instanceof Tuple) return object.items.at(at);
  if (object instanceof Range) {
    const place = at < 0 ? at + object.length : at;
    return place >= 0 && place < object.length ? object.at(place) : undefined;
  }
  return undefined;
}

/** `object[start:stop:step]`; `undefined` where the object has no slices. */
export function sliceOf(object: Value, bounds: readonly [Value, Value, Value], budget: Budget): Value | undefined {
  const text = textOf(object);
  const items = object instanceof List || object instanceof Tuple ? object.items : undefined;
  if (text === undefined && !items && !(object instanceof Range)) return undefined;
  const length = text !== undefined ? lengthOf(text) : items ? items.length : (object as Range).length;
  const [start, stop, step] = sliceBounds(bounds, length);
  if (text !== undefined) {
    budget.characters(text.length * 3);
    if (step === 1) return part(text, start, Math.max(start, stop));
    return [...places(start, stop, step)]
      .map(
        (
          (points) => (at: number) =>
            points[at]!
        )(Array.from(text)),
      )
      .join("");
  }
  if (!items) {
    const range = object as Range;
    return new Range(range.start + start * range.step, range.start + stop * range.step, range.step * step);
  }
  budget.items(items.length);
  const chosen =
    step === 1 ? items.slice(start, Math.max(start, stop)) : [...places(start, stop, step)].map((at) => items[at]!);
  return object instanceof List ? new List(chosen) : new Tuple(chosen);
}

function* places(start: number, stop: number, step: number): Generator<number, void> {
  for (let at = start; step > 0 ? at < stop : at > stop; at += step) yield at;
}

function sliceBounds(bounds: readonly [Value, Value, Value], length: number): [number, number, number] {
  const [start, stop, step = 1] = bounds.map((bound) =>
    bound === null ? undefined : indexOf(bound, "slice indices must be integers or None or have an __index__ method"),
  );
  if (step === 0) throw valueError("slice step cannot be zero");
  const [lowest, highest] = step > 0 ? [0, length] : [-1, length - 1];
  const placed = (bound: number | undefined, otherwise: number): number =>
    bound === undefined ? otherwise : bound < 0 ? Math.max(bound + length, lowest) : Math.min(bound, highest);
  return [placed(start, step > 0 ? lowest : highest), placed(stop, step > 0 ? highest : lowest), step];
}

/** Python's `len`. */
export function sizeOf(value: Value, budget: Budget): number {
  const text = textOf(value);
  if (text !== undefined) {
    budget.characters(text.length);
    return lengthOf(text);
  }
  if (value instanceof List || value instanceof Tuple) return value.items.length;
  if (value instanceof Dict) return value.size;
  if (value instanceof DictView) return value.dict.size;
  if (value instanceof Range) return value.length;
  if (value instanceof Undefined) return 0;
  if (value instanceof Special) {
    const length = value.attribute("length");
    if (length !== undefined) return Number(length);
  }
  throw typeError(`object of type '${typeOf(value)}' has no len()`);
}

/** Whether two values are one and the same object, as far as that can be told: small numbers and texts are. */
export function isSame(left: Value, right: Value): boolean {
  if (left instanceof Undefined || typeof left !== "object" || left === null) return left === right;
  return left === right;
}

/** Sorted stably in Python's order. */
export function sorted(
  values: readonly Value[],
  budget: Budget,
  keyOf: (value: Value) => Value,
  reverse = false,
): Value[] {
  budget.items(values.length);
  const keyed = values.map((value) => ({ value, key: keyOf(value) }));
  const ordered = keyed.sort((left, right) => {
    budget.spend(2);
    const result = order(left.key, right.key, budget);
    return reverse ? -result : result;
  });
  return ordered.map(({ value }) => value);
}
