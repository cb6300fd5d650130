import { formatBraces } from "./brace-format.js";
import type { Budget } from "./budget.js";
import { bind } from "./call-arguments.js";
import { equal, itemOf } from "./operations.js";
import { STRING_METHODS } from "./string-methods.js";
import { unsupported, valueError } from "./template-errors.js";
import {
  Callable,
  Dict,
  DictView,
  List,
  Markup,
  Namespace,
  orElse,
  Special,
  Tuple,
  typeOf,
  Undefined,
  type CallArguments,
  type PythonObject,
  type Value,
} from "./values.js";

type Method<Self> = (self: Self, args: CallArguments, budget: Budget) => Value;

const SEQUENCE_METHODS: ReadonlyMap<string, Method<List | Tuple>> = new Map<string, Method<List | Tuple>>([
  [
    "count",
    ({ items }, args, budget) => {
      const [wanted] = bind("count", args, ["value"], 1);
      return BigInt(items.filter((item) => equal(item, wanted!, budget)).length);
    },
  ],
  [
    "index",
    ({ items, type }, args, budget) => {
      const [wanted, start, stop] = bind("index", args, ["value", "start", "stop"], 1);
      if (start !== undefined || stop !== undefined) throw unsupported('"index" with bounds');
      const index = items.findIndex((item) => equal(item, wanted!, budget));
      if (index < 0) throw valueError(`the value is not in the ${type}`);
      return BigInt(index);
    },
  ],
]);

const DICT_METHODS: ReadonlyMap<string, Method<Dict>> = new Map<string, Method<Dict>>([
  [
    "get",
    (self, args) => {
      const [key, otherwise = null] = bind("get", args, ["key", "default"], 1);
      return orElse(self.get(key!), () => otherwise);
    },
  ],
  ["items", (self, args) => view("dict_items", self, args)],
  ["keys", (self, args) => view("dict_keys", self, args)],
  ["values", (self, args) => view("dict_values", self, args)],
  ["copy", (self, args) => (bind("copy", args, []), self)],
]);

function view(type: DictView["type"], dict: Dict, args: CallArguments): DictView {
  bind(type.slice(5), args, []);
  return new DictView(type, dict);
}

/** Methods that would change their object: Jinja2's sandbox keeps them from templates. */
const CHANGING: ReadonlySet<string> = new Set(
  "append clear extend insert pop popitem remove reverse setdefault sort update".split(" "),
);

/** What Python's types also have, and no chat template is known to use. Refused, since they are not simply missing. */
const REFUSED: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["str", new Set("encode maketrans translate".split(" "))],
  ["dict", new Set(["fromkeys"])],
  [
    "int",
    new Set(
      "as_integer_ratio bit_count bit_length conjugate denominator from_bytes imag is_integer numerator real to_bytes".split(
        " ",
      ),
    ),
  ],
  ["float", new Set("as_integer_ratio conjugate fromhex hex imag is_integer real".split(" "))],
  ["range", new Set("count index start stop step".split(" "))],
  ["dict_keys", new Set("isdisjoint mapping".split(" "))],
  ["dict_values", new Set(["mapping"])],
  ["dict_items", new Set("isdisjoint mapping".split(" "))],
]);

/** An attribute as Python's `getattr` finds it, `undefined` where there is none. */
function ownAttribute(object: Value, name: string): Value | undefined {
  const method = <Self>(self: Self, action: Method<Self> | undefined): Value | undefined =>
    action && new Callable(name, (args, budget) => action(self, args, budget), "builtin_function_or_method");
  if (typeof object === "string") {
    if (name === "format")
      return new Callable(name, (args, budget) => formatBraces(object, args, fieldMembers(budget), budget));
    if (name === "format_map") {
      return new Callable(name, (args, budget) => {
        const [mapping] = bind(name, args, ["mapping"], 1);
        const named =
          mapping instanceof Dict
            ? new Map([...mapping.entries()].map(([key, value]) => [typeof key === "string" ? key : "", value]))
            : new Map<string, Value>();
        return formatBraces(object, { positional: [], named }, fieldMembers(budget), budget);
      });
    }
    return method(object, STRING_METHODS.get(name)) ?? refused(object, name);
  }
  if (object instanceof Dict)
    return method(object, DICT_METHODS.get(name)) ?? unsafe(object, name) ?? refused(object, name);
  if (object instanceof List || object instanceof Tuple) {
    const index = object instanceof Tuple ? (object.names?.indexOf(name) ?? -1) : -1;
    if (index >= 0) return object.items[index];
    if (name === "copy" && object instanceof List) return new Callable(name, (args) => (bind(name, args, []), object));
    return method(object, SEQUENCE_METHODS.get(name)) ?? (object instanceof List ? unsafe(object, name) : undefined);
  }
  if (object instanceof Namespace) return object.attributes.get(name);
  if (object instanceof Special) return object.attribute(name);
  if (object instanceof Callable && object.attributes) return object.attributes.get(name);
  if (object instanceof Markup && STRING_METHODS.has(name)) throw unsupported(`"${name}" of escaped text`);
  return refused(object, name);
}

function unsafe(object: PythonObject, name: string): Undefined | undefined {
  if (!CHANGING.has(name)) return undefined;
  if (object instanceof Dict && !/^(clear|pop|popitem|setdefault|update)$/.test(name)) return undefined;
  if (object instanceof List && /^(popitem|setdefault|update)$/.test(name)) return undefined;
  return new Undefined(`access to attribute '${name}' of '${typeOf(object)}' object is unsafe.`, "SecurityError");
}

function refused(object: Value, name: string): Value | undefined {
  if (REFUSED.get(typeOf(object))?.has(name)) throw unsupported(`"${name}" of a value of type ${typeOf(object)}`);
  return undefined;
}

/** `object.name`: an attribute before an item. */
export function attributeOf(object: Value, name: string, budget: Budget): Value {
  if (object instanceof Undefined) throw object.error();
  if (isInternal(name)) return internal(object, name, () => itemOf(object, name, budget));
  const attribute = ownAttribute(object, name);
  if (attribute !== undefined) return attribute;
  return orElse(itemOf(object, name, budget), () => missing(object, name));
}

/** `object[index]`: an item before an attribute. */
export function memberOf(object: Value, index: Value, budget: Budget): Value {
  if (object instanceof Undefined) throw object.error();
  const item = itemOf(object, index, budget);
  if (item !== undefined) return item;
  if (typeof index !== "string") return missing(object, index);
  if (isInternal(index)) return internal(object, index, () => undefined);
  return orElse(ownAttribute(object, index), () => missing(object, index));
}

function isInternal(name: string): boolean {
  return name.startsWith("_");
}

/** Names with an underscore in front: Python's objects have some, which the sandbox hides. */
function internal(object: Value, name: string, item: () => Value | undefined): Value {
  if (DUNDER.has(name)) {
    return new Undefined(`access to attribute '${name}' of '${typeOf(object)}' object is unsafe.`, "SecurityError");
  }
  return orElse(item(), () => missing(object, name));
}

const DUNDER: ReadonlySet<string> = new Set(
  "__class__ __dict__ __doc__ __eq__ __init__ __len__ __str__ __repr__ __subclasshook__ __new__ __reduce__ __hash__".split(
    " ",
  ),
);

function missing(object: Value, name: Value): Undefined {
  if (typeof name !== "string") return new Undefined(`${typeOf(object)} object has no element here`);
  return new Undefined(`'${typeOf(object)} object' has no attribute '${name}'`);
}

/** Members for the fields of `str.format`, which the sandbox looks up as the template's own. */
function fieldMembers(budget: Budget) {
  return {
    attribute: (object: Value, name: string): Value => attributeOf(object, name, budget),
    item: (object: Value, index: Value): Value => memberOf(object, index, budget),
  };
}
