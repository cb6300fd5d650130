import type { Budget } from "./budget.js";
import { NO_NAMES, positional } from "./call-arguments.js";
import type { FilterContext } from "./filter-types.js";
import { FILTERS } from "./filters.js";
import { Loop } from "./loop.js";
import { attributeOf, memberOf } from "./members.js";
import { calculate, compare, negated, sliceOf } from "./operations.js";
import { print } from "./printing.js";
import { Scope } from "./scope.js";
import type { Arguments, BlockFilter, Expression, Signature, Statement, Target } from "./syntax.js";
import { TemplateError, typeError, valueError } from "./template-errors.js";
import { TESTS } from "./predicates.js";
import {
  Callable,
  Dict,
  iterate,
  List,
  listOf,
  orElse,
  Namespace,
  Special,
  Tuple,
  truth,
  typeOf,
  Undefined,
  type CallArguments,
  type Value,
} from "./values.js";

type Interruption = "break" | "continue" | undefined;

/** Names that a macro gets where its body uses them. */
const IMPLICIT = ["caller", "kwargs", "varargs"] as const;

/** Runs a template once. */
export class Interpreter implements FilterContext {
  readonly budget: Budget;
  #output: string[] = [];

  constructor(budget: Budget) {
    this.budget = budget;
  }

  /** @param own - names that are undefined until the template assigns them */
  run(template: readonly Statement[], variables: Scope, own: readonly string[]): string {
    const scope = new Scope(variables);
    for (const name of own) scope.set(name, new Undefined(`'${name}' is undefined`));
    return this.#printed(template, scope);
  }

  readonly hasFilter = (name: string): boolean => FILTERS.has(name);
  readonly hasTest = (name: string): boolean => TESTS.has(name);

  filter(name: string, value: Value, args: CallArguments): Value {
    const filter = FILTERS.get(name);
    if (!filter) throw new TemplateError("TemplateRuntimeError", `No filter named '${name}' found.`);
    this.budget.spend(1);
    return filter(value, args, this);
  }

  test(name: string, value: Value, args: CallArguments): boolean {
    const test = TESTS.get(name);
    if (!test) throw new TemplateError("TemplateRuntimeError", `No test named '${name}' found.`);
    this.budget.spend(1);
    return test(value, args, this);
  }

  /** What statements print, as one text. */
  #printed(body: readonly Statement[], scope: Scope): string {
    const outside = this.#output;
    this.#output = [];
    try {
      this.#execute(body, scope);
      return this.#output.join("");
    } finally {
      this.#output = outside;
    }
  }

  #print(text: string): void {
    this.budget.characters(text.length);
    this.#output.push(text);
  }

  #execute(body: readonly Statement[], scope: Scope): Interruption {
    for (const statement of body) {
      this.budget.spend(1);
      const interruption = this.#statement(statement, scope);
      if (interruption) return interruption;
    }
    return undefined;
  }

  #statement(statement: Statement, scope: Scope): Interruption {
    switch (statement.kind) {
      case "text":
        this.#print(statement.text);
        return undefined;
      case "print":
        this.#print(print(this.#evaluate(statement.value, scope), this.budget));
        return undefined;
      case "if":
        return this.#execute(
          truth(this.#evaluate(statement.test, scope)) ? statement.body : statement.otherwise,
          scope,
        );
      case "for":
        return this.#for(statement, scope, this.#evaluate(statement.iterable, scope), 0);
      case "set":
        this.#assign(statement.target, this.#evaluate(statement.value, scope), scope);
        return undefined;
      case "set-block": {
        const text = this.#printed(statement.body, new Scope(scope));
        this.#assign(statement.target, this.#filtered(text, statement.filters, scope), scope);
        return undefined;
      }
      case "with": {
        const inner = new Scope(scope);
        const values = statement.bindings.map(([target, value]) => [target, this.#evaluate(value, scope)] as const);
        for (const [target, value] of values) this.#assign(target, value, inner);
        return this.#execute(statement.body, inner);
      }
      case "macro":
        scope.set(statement.name, this.#macro(statement.name, statement.signature, statement.body, scope));
        return undefined;
      case "call-block": {
        const caller = this.#macro("caller", statement.signature, statement.body, scope);
        const { callee, args } = statement.call;
        const evaluated = this.#arguments(args, scope);
        const named = new Map(evaluated.named).set("caller", caller);
        const result = this.#call(this.#evaluate(callee, scope), { positional: evaluated.positional, named });
        this.#print(print(result, this.budget));
        return undefined;
      }
      case "filter-block": {
        const text = this.#printed(statement.body, new Scope(scope));
        this.#print(print(this.#filtered(text, statement.filters, scope), this.budget));
        return undefined;
      }
      case "generation":
        this.#execute(statement.body, new Scope(scope));
        return undefined;
      case "break":
      case "continue":
        return statement.kind;
    }
  }

  #filtered(text: string, filters: readonly BlockFilter[], scope: Scope): Value {
    return filters.reduce<Value>(
      (value, { name, args }) => this.filter(name, value, this.#arguments(args, scope)),
      text,
    );
  }

  /** Interrupts what is around it by its "else" only. */
  #for(statement: Statement & { kind: "for" }, scope: Scope, source: Value, depth: number): Interruption {
    const { target, test, body, otherwise, recursive } = statement;
    const recurse = (items: Value, deeper: number): Value => {
      const outside = this.#output;
      this.#output = [];
      try {
        this.#for(statement, scope, items, deeper);
        return this.#output.join("");
      } finally {
        this.#output = outside;
      }
    };
    const all = iterate(source, this.budget);
    const chosen = test ? this.#chosen(all, target, test, scope) : all;
    const loop = new Loop(source, chosen, test !== undefined, this.budget, depth, recursive ? recurse : undefined);
    let isUnbroken = false;
    for (let next = loop.next(); !next.done; next = loop.next()) {
      // A scope of its own costs more than an expression.
      this.budget.spend(4);
      const inner = new Scope(scope);
      inner.set("loop", loop);
      this.#assign(target, next.value, inner);
      const interruption = this.#execute(body, inner);
      if (interruption === "break") break;
      // As in Jinja2, an iteration that "continue" cuts short does not count against "else".
      if (!interruption) isUnbroken = true;
    }
    return isUnbroken ? undefined : this.#execute(otherwise, new Scope(scope));
  }

  *#chosen(items: Iterator<Value>, target: Target, test: Expression, scope: Scope): Generator<Value, void> {
    for (let next = items.next(); !next.done; next = items.next()) {
      const inner = new Scope(scope);
      inner.set("loop", new Undefined("The 'loop' variable is not available in a loop's condition"));
      this.#assign(target, next.value, inner);
      if (truth(this.#evaluate(test, inner))) yield next.value;
    }
  }

  #assign(target: Target, value: Value, scope: Scope): void {
    switch (target.kind) {
      case "name":
        scope.set(target.name, value);
        return;
      case "member": {
        const namespace = scope.get(target.namespace);
        if (!(namespace instanceof Namespace)) {
          throw new TemplateError("TemplateRuntimeError", "cannot assign attribute on non-namespace object");
        }
        namespace.attributes.set(target.name, value);
        return;
      }
      case "targets": {
        const values = listOf(value, this.budget);
        if (values.length > target.items.length)
          throw valueError(`too many values to unpack (expected ${target.items.length})`);
        if (values.length < target.items.length) {
          throw valueError(`not enough values to unpack (expected ${target.items.length}, got ${values.length})`);
        }
        for (const [index, each] of target.items.entries()) this.#assign(each, values[index]!, scope);
      }
    }
  }

  #macro(name: string, { parameters, defaults }: Signature, body: readonly Statement[], scope: Scope): Callable {
    const uses = implicitNames(body);
    const explicitCaller = parameters.includes("caller");
    const call = (args: CallArguments): Value => {
      const inner = new Scope(scope);
      const named = new Map(args.named);
      for (const [index, parameter] of parameters.entries()) {
        let value = args.positional[index];
        if (index >= args.positional.length) {
          value = named.get(parameter);
          named.delete(parameter);
        }
        if (value === undefined) {
          const fallback = defaults[index - (parameters.length - defaults.length)];
          value = fallback
            ? this.#evaluate(fallback, inner)
            : new Undefined(`parameter '${parameter}' was not provided`);
        }
        inner.set(parameter, value);
      }
      if (uses.has("caller") && !explicitCaller) {
        inner.set(
          "caller",
          orElse(named.get("caller"), () => new Undefined("No caller defined")),
        );
        named.delete("caller");
      }
      if (uses.has("kwargs")) inner.set("kwargs", new Dict(named));
      else if (named.has("caller"))
        throw typeError(`macro '${name}' was invoked with two values for the special caller argument`);
      else if (named.size > 0) throw typeError(`macro '${name}' takes no keyword argument '${[...named.keys()][0]!}'`);
      if (uses.has("varargs")) inner.set("varargs", new Tuple(args.positional.slice(parameters.length)));
      else if (args.positional.length > parameters.length) {
        throw typeError(`macro '${name}' takes not more than ${parameters.length} argument(s)`);
      }
      return this.budget.nested(() => this.#printed(body, inner));
    };
    const attributes: [string, Value][] = [
      ["name", name],
      ["arguments", new Tuple(parameters)],
      ["catch_kwargs", uses.has("kwargs")],
      ["catch_varargs", uses.has("varargs")],
      ["caller", uses.has("caller")],
    ];
    return new Callable(name, call, "Macro", new Map(attributes));
  }

  #arguments({ positional: values, named, spread, namedSpread }: Arguments, scope: Scope): CallArguments {
    const list = values.map((value) => this.#evaluate(value, scope));
    if (spread) {
      const value = this.#evaluate(spread, scope);
      for (const each of listOf(value, this.budget)) list.push(each);
    }
    if (named.length === 0 && !namedSpread) return list.length === 0 ? NOTHING : { positional: list, named: NO_NAMES };
    const names = new Map<string, Value>();
    const add = (name: string, value: Value): void => {
      if (names.has(name)) throw typeError(`got multiple values for keyword argument '${name}'`);
      names.set(name, value);
    };
    for (const [name, value] of named) add(name, this.#evaluate(value, scope));
    if (namedSpread) {
      const mapping = this.#evaluate(namedSpread, scope);
      if (!(mapping instanceof Dict)) throw typeError(`argument after ** must be a mapping, not ${typeOf(mapping)}`);
      for (const [key, value] of mapping.entries()) {
        if (typeof key !== "string") throw typeError("keywords must be strings");
        add(key, value);
      }
    }
    return { positional: list, named: names };
  }

  #call(callee: Value, args: CallArguments): Value {
    if (callee instanceof Callable) return callee.call(args, this.budget);
    if (callee instanceof Special && callee.call) return callee.call(args, this.budget);
    if (callee instanceof Undefined) throw callee.error();
    throw typeError(`'${typeOf(callee)}' object is not callable`);
  }

  #evaluate(node: Expression, scope: Scope): Value {
    this.budget.spend(1);
    switch (node.kind) {
      case "constant":
        return node.value;
      case "name":
        return orElse(scope.get(node.name), () => new Undefined(`'${node.name}' is undefined`));
      case "tuple":
      case "list": {
        const items = node.items.map((item) => this.#evaluate(item, scope));
        return node.kind === "list" ? new List(items) : new Tuple(items);
      }
      case "dict":
        return new Dict(node.entries.map(([key, value]) => [this.#evaluate(key, scope), this.#evaluate(value, scope)]));
      case "attribute":
        return attributeOf(this.#evaluate(node.object, scope), node.name, this.budget);
      case "item":
        return this.#item(node, this.#evaluate(node.object, scope), scope);
      case "call":
        return this.#call(this.#evaluate(node.callee, scope), this.#arguments(node.args, scope));
      case "filter":
        return this.filter(node.name, this.#evaluate(node.operand, scope), this.#arguments(node.args, scope));
      case "test":
        return this.test(node.name, this.#evaluate(node.operand, scope), this.#arguments(node.args, scope));
      case "not":
        return !truth(this.#evaluate(node.operand, scope));
      case "negative":
        return negated(this.#evaluate(node.operand, scope), "-");
      case "positive":
        return negated(this.#evaluate(node.operand, scope), "+");
      case "and": {
        const left = this.#evaluate(node.left, scope);
        return truth(left) ? this.#evaluate(node.right, scope) : left;
      }
      case "or": {
        const left = this.#evaluate(node.left, scope);
        return truth(left) ? left : this.#evaluate(node.right, scope);
      }
      case "binary":
        return calculate(
          node.operator,
          this.#evaluate(node.left, scope),
          this.#evaluate(node.right, scope),
          this.budget,
        );
      case "concatenate": {
        const parts = node.items.map((item) => print(this.#evaluate(item, scope), this.budget));
        this.budget.characters(parts.reduce((sum, part) => sum + part.length, 0));
        return parts.join("");
      }
      case "compare":
        return this.#compare(node, scope);
      case "conditional":
        if (truth(this.#evaluate(node.test, scope))) return this.#evaluate(node.then, scope);
        if (node.otherwise) return this.#evaluate(node.otherwise, scope);
        return new Undefined("the inline if-expression evaluated to false and no else section was defined.");
    }
  }

  /** `a < b < c` is `a < b and b < c`. */
  #compare(node: Expression & { kind: "compare" }, scope: Scope): boolean {
    let left = this.#evaluate(node.first, scope);
    for (const [operator, operand] of node.rest) {
      const right = this.#evaluate(operand, scope);
      if (!compare(operator, left, right, this.budget)) return false;
      left = right;
    }
    return true;
  }

  #item(node: Expression & { kind: "item" }, object: Value, scope: Scope): Value {
    const { index } = node;
    if (index.kind !== "slice") return memberOf(object, this.#evaluate(index, scope), this.budget);
    const bound = (each: Expression | undefined): Value => (each ? this.#evaluate(each, scope) : null);
    const bounds = [bound(index.start), bound(index.stop), bound(index.step)] as const;
    if (object instanceof Undefined) throw object.error();
    const slice = sliceOf(object, bounds, this.budget);
    if (slice !== undefined) return slice;
    // Jinja2 works out constants in another way, which does not raise.
    if (node.object.kind === "constant") return new Undefined(`${typeOf(object)} object has no slices`);
    throw typeError(`'${typeOf(object)}' object is not subscriptable`);
  }
}

const NOTHING = positional();

const IMPLICIT_NAMES = new WeakMap<readonly Statement[], ReadonlySet<string>>();

/** Which of the implicit names a macro's body uses; worked out once. */
function implicitNames(body: readonly Statement[]): ReadonlySet<string> {
  let names = IMPLICIT_NAMES.get(body);
  if (!names) IMPLICIT_NAMES.set(body, (names = new Set(IMPLICIT.filter((each) => mentions(body, each)))));
  return names;
}

/** Whether a name stands anywhere in a part of the syntax tree. */
function mentions(node: unknown, name: string): boolean {
  if (Array.isArray(node)) return node.some((each) => mentions(each, name));
  if (node === null || typeof node !== "object") return false;
  const { kind, name: own } = node as { kind?: unknown; name?: unknown };
  return (kind === "name" && own === name) || Object.values(node).some((each) => mentions(each, name));
}
