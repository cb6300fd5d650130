import type { Budget } from "./budget.js";
import { bind } from "./call-arguments.js";
import type { Filter, FilterContext } from "./filter-types.js";
import { memberOf } from "./members.js";
import { calculate, equal, indexOf, order, sorted, textOf } from "./operations.js";
import { print } from "./printing.js";
import { lower } from "./string-methods.js";
import { TemplateError, typeError, unsupported } from "./template-errors.js";
import { pointsOf } from "./text.js";
import {
  Dict,
  DictView,
  hashKey,
  iterate,
  List,
  listOf,
  orElse,
  Markup,
  Range,
  Stream,
  Tuple,
  truth,
  typeOf,
  Undefined,
  type CallArguments,
  type Value,
} from "./values.js";

export const SEQUENCE_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ["batch", batch],
  ["dictsort", dictsort],
  ["first", first],
  ["groupby", groupBy],
  ["items", items],
  ["join", join],
  ["last", last],
  ["list", (value, args, { budget }) => (bind("list", args, []), new List([...listOf(value, budget)]))],
  ["map", map],
  ["max", extreme("max", 1)],
  ["min", extreme("min", -1)],
  ["reject", selecting("reject", false, false)],
  ["rejectattr", selecting("rejectattr", true, false)],
  ["reverse", reverse],
  ["select", selecting("select", false, true)],
  ["selectattr", selecting("selectattr", true, true)],
  ["slice", slice],
  ["sort", sort],
  ["sum", sum],
  ["unique", unique],
]);

/** Finds `a.b.0` in a value, part by part, as Jinja2's filters do. */
function pathGetter(path: Value | undefined, budget: Budget, otherwise?: Value): (value: Value) => Value {
  if (path === undefined || path === null) return (value) => value;
  const parts =
    typeof path === "string" ? path.split(".").map((each) => (/^\d+$/.test(each) ? BigInt(each) : each)) : [path];
  return (value) => {
    let found = value;
    for (const each of parts) {
      found = memberOf(found, each, budget);
      if (found instanceof Undefined && otherwise !== undefined) found = otherwise;
    }
    return found;
  };
}

function lowered(value: Value): Value {
  const text = textOf(value);
  return text === undefined ? value : lower(text);
}

function* over(value: Value, budget: Budget): Generator<Value, void> {
  const iterator = iterate(value, budget);
  for (let next = iterator.next(); !next.done; next = iterator.next()) yield next.value;
}

function batch(value: Value, args: CallArguments, { budget }: FilterContext): Value {
  const [count, fill = null] = bind("batch", args, ["linecount", "fill_with"], 1);
  const size = indexOf(count!);
  function* groups(): Generator<Value, void> {
    let group: Value[] = [];
    for (const item of over(value, budget)) {
      if (group.length === size) {
        yield new List(group);
        group = [];
      }
      group.push(item);
    }
    if (group.length === 0) return;
    if (fill !== null) {
      budget.items(Math.max(0, size - group.length));
      while (group.length < size) group.push(fill);
    }
    yield new List(group);
  }
  return new Stream("generator", groups());
}

function slice(value: Value, args: CallArguments, { budget }: FilterContext): Value {
  const [count, fill = null] = bind("slice", args, ["slices", "fill_with"], 1);
  const slices = indexOf(count!);
  function* groups(): Generator<Value, void> {
    const all = listOf(value, budget);
    if (slices === 0) throw new TemplateError("ZeroDivisionError", "integer division or modulo by zero");
    const size = Math.floor(all.length / slices);
    const longer = all.length % slices;
    for (let index = 0, from = 0; index < slices; index++) {
      budget.spend(1);
      const to = from + size + (index < longer ? 1 : 0);
      const group = all.slice(from, to);
      if (fill !== null && index >= longer) group.push(fill);
      yield new List(group);
      from = to;
    }
  }
  return new Stream("generator", groups());
}

function dictsort(value: Value, args: CallArguments, { budget }: FilterContext): Value {
  const [caseSensitive = false, by = "key", reverse = false] = bind("dictsort", args, [
    "case_sensitive",
    "by",
    "reverse",
  ]);
  if (by !== "key" && by !== "value")
    throw new TemplateError("FilterArgumentError", 'You can only sort by either "key" or "value"');
  if (value instanceof Undefined) throw value.error();
  if (!(value instanceof Dict))
    throw new TemplateError("AttributeError", `'${typeOf(value)}' object has no attribute 'items'`);
  const pairs = [...value.entries()].map((entry) => new Tuple(entry));
  const keyOf = (pair: Value): Value => {
    const key = (pair as Tuple).items[by === "key" ? 0 : 1]!;
    return truth(caseSensitive) ? key : lowered(key);
  };
  return new List(sorted(pairs, budget, keyOf, truth(reverse)));
}

function first(value: Value, args: CallArguments, { budget }: FilterContext): Value {
  bind("first", args, []);
  const next = iterate(value, budget).next();
  return next.done ? new Undefined("No first item, sequence was empty.") : next.value;
}

function reversed(value: Value, budget: Budget): Value[] | undefined {
  if (value instanceof List || value instanceof Tuple) return [...listOf(value, budget)].reverse();
  if (value instanceof Dict || value instanceof DictView || value instanceof Range)
    return [...listOf(value, budget)].reverse();
  const text = textOf(value);
  if (text === undefined) return undefined;
  budget.characters(text.length * 4);
  return pointsOf(text).reverse();
}

function last(value: Value, args: CallArguments, { budget }: FilterContext): Value {
  bind("last", args, []);
  if (value instanceof Undefined) return new Undefined("No last item, sequence was empty.");
  const items = reversed(value, budget);
  if (!items) throw typeError(`'${typeOf(value)}' object is not reversible`);
  return orElse(items[0], () => new Undefined("No last item, sequence was empty."));
}

function reverse(value: Value, args: CallArguments, { budget }: FilterContext): Value {
  bind("reverse", args, []);
  if (typeof value === "string") return (reversed(value, budget) as string[]).join("");
  if (value instanceof Markup) throw unsupported('"reverse" of escaped text');
  const items =
    value instanceof Stream || value instanceof Undefined
      ? [...listOf(value, budget)].reverse()
      : reversed(value, budget);
  if (!items) throw new TemplateError("FilterArgumentError", "argument must be iterable");
  // A generator that is not reversible becomes a list; the rest becomes an iterator that can be used once.
  return value instanceof Stream || value instanceof Undefined
    ? new List(items)
    : new Stream("list_reverseiterator", items);
}

function groupBy(value: Value, args: CallArguments, { budget }: FilterContext): Value {
  const [attribute, otherwise, caseSensitive = false] = bind(
    "groupby",
    args,
    ["attribute", "default", "case_sensitive"],
    1,
  );
  const get = pathGetter(attribute, budget, otherwise ?? undefined);
  const keyOf = (item: Value): Value => (truth(caseSensitive) ? get(item) : lowered(get(item)));
  const groups: { key: Value; shown: Value; items: Value[] }[] = [];
  for (const item of sorted(listOf(value, budget), budget, keyOf)) {
    const key = keyOf(item);
    const group = groups.at(-1);
    if (group && equal(group.key, key, budget)) group.items.push(item);
    else groups.push({ key, shown: get(item), items: [item] });
  }
  return new List(groups.map((group) => new Tuple([group.shown, new List(group.items)], ["grouper", "list"])));
}

function items(value: Value, args: CallArguments, { budget }: FilterContext): Value {
  bind("items", args, []);
  if (value instanceof Undefined) return new Stream("generator", []);
  if (!(value instanceof Dict)) {
    // Jinja2 finds out when the generator is first asked.
    return new Stream("generator", failing(typeError("Can only get item pairs from a mapping.")));
  }
  budget.items(value.size);
  return new Stream("generator", new DictView("dict_items", value).values());
}

// eslint-disable-next-line require-yield
function* failing(error: Error): Generator<Value, void> {
  throw error;
}

function join(value: Value, args: CallArguments, { budget }: FilterContext): Value {
  const [separator = "", attribute] = bind("join", args, ["d", "attribute"]);
  const get = pathGetter(attribute, budget);
  const parts: string[] = [];
  const between = print(separator, budget);
  let length = 0;
  for (const item of over(value, budget)) {
    parts.push(print(get(item), budget));
    length += parts.at(-1)!.length + between.length;
  }
  budget.characters(length);
  return parts.join(between);
}

function map(value: Value, args: CallArguments, context: FilterContext): Value {
  const { budget } = context;
  const [name, ...rest] = args.positional;
  let action: (item: Value) => Value;
  if (name === undefined && args.named.has("attribute")) {
    const known = new Set(["attribute", "default"]);
    for (const key of args.named.keys()) {
      if (!known.has(key)) throw new TemplateError("FilterArgumentError", `Unexpected keyword argument '${key}'`);
    }
    action = pathGetter(args.named.get("attribute"), budget, args.named.get("default") ?? undefined);
  } else {
    if (name === undefined) throw new TemplateError("FilterArgumentError", "map requires a filter argument");
    const filter = textOf(name);
    if (filter === undefined) throw typeError("map requires a filter's name");
    action = (item) => context.filter(filter, item, { positional: rest, named: args.named });
  }
  if (!truth(value) && !(value instanceof Stream)) return new Stream("generator", []);
  function* mapped(): Generator<Value, void> {
    for (const item of over(value, budget)) yield action(item);
  }
  return new Stream("generator", mapped());
}

function selecting(name: string, byAttribute: boolean, wanted: boolean): Filter {
  return (value, args, context) => {
    const { budget } = context;
    const [attribute, ...more] = byAttribute ? args.positional : [undefined, ...args.positional];
    const [test, ...rest] = more as Value[];
    if (byAttribute && attribute === undefined)
      throw new TemplateError("FilterArgumentError", "Missing parameter for attribute name");
    const get = pathGetter(attribute, budget);
    const isChosen = (item: Value): boolean => {
      const found = get(item);
      if (test === undefined) return truth(found);
      const testName = textOf(test);
      if (testName === undefined) throw typeError(`${name} requires a test's name`);
      return context.test(testName, found, { positional: rest, named: args.named });
    };
    function* chosen(): Generator<Value, void> {
      for (const item of over(value, budget)) if (isChosen(item) === wanted) yield item;
    }
    return new Stream("generator", truth(value) ? chosen() : []);
  };
}

function extreme(name: "max" | "min", sign: 1 | -1): Filter {
  return (value, args, { budget }) => {
    const [caseSensitive = false, attribute] = bind(name, args, ["case_sensitive", "attribute"]);
    const get = pathGetter(attribute, budget);
    const keyOf = (item: Value): Value => (truth(caseSensitive) ? get(item) : lowered(get(item)));
    let best: { item: Value; key: Value } | undefined;
    for (const item of over(value, budget)) {
      const key = keyOf(item);
      if (!best || order(key, best.key, budget, sign > 0 ? ">" : "<") * sign > 0) best = { item, key };
    }
    return best ? best.item : new Undefined("No aggregated item, sequence was empty.");
  };
}

function sort(value: Value, args: CallArguments, { budget }: FilterContext): Value {
  const [reverse = false, caseSensitive = false, attribute] = bind("sort", args, [
    "reverse",
    "case_sensitive",
    "attribute",
  ]);
  const fold = (item: Value): Value => (truth(caseSensitive) ? item : lowered(item));
  const paths = typeof attribute === "string" ? attribute.split(",") : [attribute ?? null];
  const getters = paths.map((path) => pathGetter(path, budget));
  const keyOf = (item: Value): Value => new List(getters.map((get) => fold(get(item))));
  return new List(sorted(listOf(value, budget), budget, keyOf, truth(reverse)));
}

function sum(value: Value, args: CallArguments, { budget }: FilterContext): Value {
  const [attribute, start = 0n] = bind("sum", args, ["attribute", "start"]);
  const get = pathGetter(attribute, budget);
  if (textOf(start) !== undefined) throw typeError("sum() can't sum strings [use ''.join(seq) instead]");
  let total = start;
  for (const item of over(value, budget)) total = calculate("+", total, get(item), budget);
  return total;
}

function unique(value: Value, args: CallArguments, { budget }: FilterContext): Value {
  const [caseSensitive = false, attribute] = bind("unique", args, ["case_sensitive", "attribute"]);
  const get = pathGetter(attribute, budget);
  function* distinct(): Generator<Value, void> {
    const seen = new Set<unknown>();
    for (const item of over(value, budget)) {
      const key = hashKey(truth(caseSensitive) ? get(item) : lowered(get(item)));
      if (seen.has(key)) continue;
      seen.add(key);
      yield item;
    }
  }
  return new Stream("generator", distinct());
}
