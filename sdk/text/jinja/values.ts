import { TemplateError, typeError } from "./template-errors.js";
import type { Budget } from "./budget.js";

/**
 * A value of a template, with Python's types: `None` is `null`, `int` is a bigint, `float` a number, `str` a string. Everything
 * else is one of the classes below, so that nothing of JavaScript's objects can be reached from a template.
 */
export type Value = null | boolean | bigint | number | string | PythonObject;

/** Everything that is not a plain value of JavaScript. */
export abstract class PythonObject {
  /** Python's name of the type, for messages. */
  abstract readonly type: string;
}

/** What a missing variable, attribute or item is: empty where it is printed, an error where it is used. */
export class Undefined extends PythonObject {
  readonly type = "Undefined";
  readonly #reason: string;
  readonly #kind: string;

  constructor(reason: string, kind = "UndefinedError") {
    super();
    this.#reason = reason;
    this.#kind = kind;
  }

  error(): TemplateError {
    return new TemplateError(this.#kind, this.#reason);
  }
}

export class List extends PythonObject {
  readonly type = "list";

  constructor(readonly items: readonly Value[]) {
    super();
  }
}

export class Tuple extends PythonObject {
  readonly type = "tuple";

  /** @param names - of the items, where they have some */
  constructor(
    readonly items: readonly Value[],
    readonly names?: readonly string[],
  ) {
    super();
  }
}

type HashKey = string | bigint | number | null | PythonObject;

export class Dict extends PythonObject {
  readonly type = "dict";
  readonly #entries = new Map<HashKey, [Value, Value]>();

  constructor(entries: Iterable<readonly [Value, Value]> = []) {
    super();
    for (const [key, value] of entries) this.set(key, value);
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Value): Value | undefined {
    return this.#entries.get(hashKey(key))?.[1];
  }

  has(key: Value): boolean {
    return this.#entries.has(hashKey(key));
  }

  /** Only while the dict is made: templates cannot change one. The first of equal keys stays. */
  set(key: Value, value: Value): void {
    const hash = hashKey(key);
    const present = this.#entries.get(hash);
    if (present) present[1] = value;
    else this.#entries.set(hash, [key, value]);
  }

  entries(): IterableIterator<[Value, Value]> {
    return this.#entries.values();
  }

  *keys(): Generator<Value, void> {
    for (const [key] of this.#entries.values()) yield key;
  }
}

/** What equal keys share: `1`, `1.0` and `True` are one key. @throws TemplateError for values that are no keys */
export function hashKey(key: Value): HashKey {
  // eslint-disable-next-line @typescript-eslint/switch-exhaustiveness-check
  switch (typeof key) {
    case "string":
      // Keys that begin with NUL stand for tuples.
      return key.startsWith("\0") ? `\0s${key}` : key;
    case "boolean":
      return key ? 1n : 0n;
    case "number":
      return Number.isInteger(key) ? BigInt(key) : key;
    case "bigint":
      return key;
  }
  if (key instanceof Tuple) {
    const parts = key.items.map((item) => {
      const hash = hashKey(item);
      if (hash instanceof PythonObject) throw typeError(`a ${hash.type} inside a tuple cannot be a key`);
      const text = String(hash);
      return `${typeof hash} ${text.length} ${text}`;
    });
    return `\0t${parts.join("")}`;
  }
  if (key instanceof Undefined) return UNDEFINED_KEY;
  if (key instanceof Markup) return hashKey(key.text);
  if (key instanceof List || key instanceof Dict) throw typeError(`unhashable type: '${key.type}'`);
  return key;
}

const UNDEFINED_KEY = new Undefined("");

/** Python's `range`: counts without holding its numbers. */
export class Range extends PythonObject {
  readonly type = "range";
  readonly length: number;

  constructor(
    readonly start: number,
    readonly stop: number,
    readonly step: number,
  ) {
    super();
    this.length = Math.max(0, Math.ceil((stop - start) / step));
  }

  at(index: number): bigint {
    return BigInt(this.start + index * this.step);
  }

  *values(): Generator<Value, void> {
    for (let index = 0; index < this.length; index++) yield this.at(index);
  }
}

/** The only value whose attributes a template may set. */
export class Namespace extends PythonObject {
  readonly type = "Namespace";
  readonly attributes = new Map<string, Value>();
}

/** Values that are made as they are asked for, once: what `map`, `select` and others give. */
export class Stream extends PythonObject {
  readonly iterator: Iterator<Value>;

  constructor(
    readonly type: string,
    values: Iterable<Value>,
  ) {
    super();
    this.iterator = values[Symbol.iterator]();
  }
}

/** `dict.keys()`, `dict.values()` or `dict.items()`. */
export class DictView extends PythonObject {
  constructor(
    readonly type: "dict_keys" | "dict_values" | "dict_items",
    readonly dict: Dict,
  ) {
    super();
  }

  *values(): Generator<Value, void> {
    for (const [key, value] of this.dict.entries()) {
      yield this.type === "dict_keys" ? key : this.type === "dict_values" ? value : new Tuple([key, value]);
    }
  }
}

/** Text that counts as HTML: `escape` and `safe` give it. */
export class Markup extends PythonObject {
  readonly type = "Markup";

  constructor(readonly text: string) {
    super();
  }
}

/** Arguments of a call, evaluated. */
export interface CallArguments {
  positional: readonly Value[];
  named: ReadonlyMap<string, Value>;
}

/** A function that templates may call. */
export class Callable extends PythonObject {
  readonly type: string;

  constructor(
    readonly name: string,
    readonly call: (args: CallArguments, budget: Budget) => Value,
    type = "function",
    readonly attributes?: ReadonlyMap<string, Value>,
  ) {
    super();
    this.type = type;
  }
}

/** What has attributes that are worked out when asked for: the `loop` of a loop. */
export abstract class Special extends PythonObject {
  abstract attribute(name: string): Value | undefined;
  call?(args: CallArguments, budget: Budget): Value;
}

export function typeOf(value: Value): string {
  if (value === null) return "NoneType";
  // eslint-disable-next-line @typescript-eslint/switch-exhaustiveness-check
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "float";
    case "string":
      return "str";
  }
  return value.type;
}

export function truth(value: Value): boolean {
  if (value === null) return false;
  // eslint-disable-next-line @typescript-eslint/switch-exhaustiveness-check
  switch (typeof value) {
    case "boolean":
      return value;
    case "bigint":
      return value !== 0n;
    case "number":
      return value !== 0;
    case "string":
      return value !== "";
  }
  if (value instanceof List || value instanceof Tuple) return value.items.length > 0;
  if (value instanceof Dict) return value.size > 0;
  if (value instanceof DictView) return value.dict.size > 0;
  if (value instanceof Range) return value.length > 0;
  if (value instanceof Markup) return value.text !== "";
  return !(value instanceof Undefined);
}

/** A value, or what stands in for it where there is none. `??` would take `None` for nothing. */
export function orElse(value: Value | undefined, otherwise: () => Value): Value {
  return value === undefined ? otherwise() : value;
}

/** The values of an iterable one after another, each for one unit. @throws TemplateError where it is none */
export function iterate(value: Value, budget: Budget): Iterator<Value> {
  return counted(iterableOf(value, budget), budget);
}

function* counted(values: Iterable<Value>, budget: Budget): Generator<Value, void> {
  for (const value of values) {
    budget.spend(1);
    yield value;
  }
}

function iterableOf(value: Value, budget: Budget): Iterable<Value> {
  if (typeof value === "string") {
    budget.characters(value.length);
    return value;
  }
  if (value instanceof List || value instanceof Tuple) return value.items;
  if (value instanceof Dict) return value.keys();
  if (value instanceof DictView || value instanceof Range) return value.values();
  if (value instanceof Stream) return remaining(value);
  if (value instanceof Markup) return value.text;
  if (value instanceof Undefined) return [];
  throw typeError(`'${typeOf(value)}' object is not iterable`);
}

/** Goes on where a stream was left, and leaves it open. */
function* remaining(stream: Stream): Generator<Value, void> {
  for (;;) {
    const next = stream.iterator.next();
    if (next.done === true) return;
    yield next.value;
  }
}

/** All values of an iterable. */
export function listOf(value: Value, budget: Budget): readonly Value[] {
  if (value instanceof List || value instanceof Tuple) {
    budget.items(value.items.length);
    return value.items;
  }
  return [...counted(iterableOf(value, budget), budget)];
}

export function isIterable(value: Value): boolean {
  return (
    typeof value === "string" ||
    [List, Tuple, Dict, DictView, Range, Stream, Markup, Undefined].some((each) => value instanceof each)
  );
}
