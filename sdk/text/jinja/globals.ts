import { bind } from "./call-arguments.js";
import { indexOf } from "./operations.js";
import { print } from "./printing.js";
import { strftime } from "./strftime.js";
import { TemplateError, TemplateRefusal, typeError, unsupported, valueError } from "./template-errors.js";
import {
  Callable,
  Dict,
  listOf,
  Namespace,
  Range,
  Special,
  Tuple,
  Undefined,
  type CallArguments,
  type Value,
} from "./values.js";
import type { Budget } from "./budget.js";

/** The largest range of Jinja2's sandbox. */
const LONGEST_RANGE = 100_000;

/** What every template of `transformers` can call. @param now - clock for templates that print the date */
export function templateGlobals(now: () => Date): Map<string, Value> {
  const functions: [string, Callable["call"]][] = [
    ["range", range],
    ["dict", (args, budget) => dictOf("dict", args, budget)],
    ["namespace", namespace],
    ["joiner", joiner],
    ["cycler", cycler],
    [
      "lipsum",
      () => {
        throw unsupported('"lipsum"');
      },
    ],
    [
      "raise_exception",
      (args, budget) => {
        throw new TemplateRefusal(print(bind("raise_exception", args, ["message"], 1)[0]!, budget));
      },
    ],
    [
      "strftime_now",
      (args, budget) => {
        const format = print(bind("strftime_now", args, ["format"], 1)[0]!, budget);
        budget.characters(format.length * 20);
        return strftime(now(), format);
      },
    ],
  ];
  return new Map(functions.map(([name, call]) => [name, new Callable(name, call)]));
}

function range(args: CallArguments): Value {
  if (args.named.size > 0) throw typeError("range() takes no keyword arguments");
  if (args.positional.length === 0) throw typeError("range expected at least 1 argument, got 0");
  if (args.positional.length > 3) throw typeError(`range expected at most 3 arguments, got ${args.positional.length}`);
  const bounds = args.positional.map((value) => indexOf(value));
  const [start, stop, step] = bounds.length > 1 ? [bounds[0]!, bounds[1]!, bounds[2] ?? 1] : [0, bounds[0]!, 1];
  if (step === 0) throw valueError("range() arg 3 must not be zero");
  const result = new Range(start, stop, step);
  if (result.length > LONGEST_RANGE) {
    const message = `Range too big. The sandbox blocks ranges larger than MAX_RANGE (${LONGEST_RANGE}).`;
    throw new TemplateError("OverflowError", message);
  }
  return result;
}

function dictOf(name: string, args: CallArguments, budget: Budget): Dict {
  if (args.positional.length > 1) throw typeError(`${name} expected at most 1 argument, got ${args.positional.length}`);
  const [source] = args.positional;
  const result = new Dict();
  if (source instanceof Dict) for (const [key, value] of source.entries()) result.set(key, value);
  else if (source instanceof Undefined) throw source.error();
  else if (source !== undefined) {
    for (const pair of listOf(source, budget)) {
      const items = listOf(pair, budget);
      if (items.length !== 2)
        throw valueError(`dictionary update sequence element has length ${items.length}; 2 is required`);
      result.set(items[0]!, items[1]!);
    }
  }
  for (const [key, value] of args.named) result.set(key, value);
  return result;
}

function namespace(args: CallArguments, budget: Budget): Value {
  const result = new Namespace();
  for (const [key, value] of dictOf("dict", args, budget).entries()) {
    if (typeof key === "string") result.attributes.set(key, value);
  }
  return result;
}

/** Gives nothing when first called, then the separator. */
function joiner(args: CallArguments): Value {
  const [separator = ", "] = bind("joiner", args, ["sep"]);
  let isFirst = true;
  return new Callable("joiner", () => {
    const value = isFirst ? "" : separator;
    isFirst = false;
    return value;
  });
}

class Cycler extends Special {
  readonly type = "Cycler";
  readonly #items: readonly Value[];
  #at = 0;

  constructor(items: readonly Value[]) {
    super();
    this.#items = items;
  }

  attribute(name: string): Value | undefined {
    if (name === "current") return this.#items[this.#at]!;
    if (name === "items") return new Tuple(this.#items);
    if (name === "pos") return BigInt(this.#at);
    if (name === "next") {
      return new Callable(name, () => {
        const value = this.#items[this.#at]!;
        this.#at = (this.#at + 1) % this.#items.length;
        return value;
      });
    }
    if (name !== "reset") return undefined;
    return new Callable(name, () => {
      this.#at = 0;
      return null;
    });
  }
}

function cycler(args: CallArguments): Value {
  if (args.positional.length === 0) throw new TemplateError("RuntimeError", "at least one item has to be provided");
  return new Cycler(args.positional);
}
