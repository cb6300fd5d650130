import type { Budget } from "./budget.js";
import { equal } from "./operations.js";
import { typeError } from "./template-errors.js";
import {
  Callable,
  DictView,
  Dict,
  List,
  Range,
  Special,
  Tuple,
  Undefined,
  type CallArguments,
  type Value,
} from "./values.js";

/** The variable `loop`. Looks one item ahead only where the template asks whether there is one. */
export class Loop extends Special {
  readonly type = "LoopContext";
  readonly #source: Value;
  readonly #budget: Budget;
  readonly #isFiltered: boolean;
  readonly #depth: number;
  readonly #recurse: ((items: Value, depth: number) => Value) | undefined;
  #items: Iterator<Value>;
  #ahead: IteratorResult<Value> | undefined;
  #index = -1;
  #current: Value | undefined;
  #previous: Value | undefined;
  #length: number | undefined;
  #changed: readonly Value[] | undefined;

  /** @param isFiltered - the loop has a condition: fewer items may come than the source has */
  constructor(
    source: Value,
    items: Iterator<Value>,
    isFiltered: boolean,
    budget: Budget,
    depth: number,
    recurse: ((items: Value, depth: number) => Value) | undefined,
  ) {
    super();
    this.#source = source;
    this.#items = items;
    this.#isFiltered = isFiltered;
    this.#budget = budget;
    this.#depth = depth;
    this.#recurse = recurse;
  }

  next(): IteratorResult<Value> {
    const next = this.#ahead ?? this.#items.next();
    this.#ahead = undefined;
    if (next.done) return next;
    this.#index++;
    this.#previous = this.#current;
    this.#current = next.value;
    return next;
  }

  attribute(name: string): Value | undefined {
    switch (name) {
      case "index":
        return BigInt(this.#index + 1);
      case "index0":
        return BigInt(this.#index);
      case "revindex":
        return BigInt(this.#size() - this.#index);
      case "revindex0":
        return BigInt(this.#size() - this.#index - 1);
      case "first":
        return this.#index === 0;
      case "last":
        return this.#peek().done === true;
      case "length":
        return BigInt(this.#size());
      case "depth":
        return BigInt(this.#depth + 1);
      case "depth0":
        return BigInt(this.#depth);
      case "previtem":
        return this.#index === 0 ? new Undefined("there is no previous item") : this.#previous!;
      case "nextitem": {
        const next = this.#peek();
        return next.done ? new Undefined("there is no next item") : next.value;
      }
      case "cycle":
        return new Callable(name, (args) => this.#cycle(args), "method");
      case "changed":
        return new Callable(name, (args) => this.#isChanged(args), "method");
    }
    return undefined;
  }

  override call(args: CallArguments): Value {
    if (!this.#recurse) {
      throw typeError("The loop must have the 'recursive' marker to be called recursively.");
    }
    const [items] = args.positional;
    if (items === undefined || args.positional.length > 1 || args.named.size > 0)
      throw typeError("loop() takes 1 argument");
    const recurse = this.#recurse;
    return this.#budget.nested(() => recurse(items, this.#depth + 1));
  }

  #peek(): IteratorResult<Value> {
    return (this.#ahead ??= this.#items.next());
  }

  #size(): number {
    if (this.#length !== undefined) return this.#length;
    const source = this.#source;
    if (!this.#isFiltered) {
      if (source instanceof List || source instanceof Tuple) return (this.#length = source.items.length);
      if (source instanceof Dict) return (this.#length = source.size);
      if (source instanceof DictView) return (this.#length = source.dict.size);
      if (source instanceof Range) return (this.#length = source.length);
    }
    const rest: Value[] = [];
    for (let next = this.#peek(); !next.done; next = this.#items.next()) {
      rest.push(next.value);
      this.#ahead = undefined;
    }
    this.#ahead = undefined;
    this.#items = rest[Symbol.iterator]();
    return (this.#length = this.#index + 1 + rest.length);
  }

  #cycle(args: CallArguments): Value {
    if (args.positional.length === 0) throw typeError("no items for cycling given");
    return args.positional[this.#index % args.positional.length]!;
  }

  #isChanged(args: CallArguments): boolean {
    const before = this.#changed;
    const isSame =
      before?.length === args.positional.length &&
      before.every((value, index) => equal(value, args.positional[index]!, this.#budget));
    if (isSame) return false;
    this.#changed = args.positional;
    return true;
  }
}
