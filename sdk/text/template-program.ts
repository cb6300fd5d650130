import { Budget } from "./jinja/budget.js";
import { FILTERS } from "./jinja/filters.js";
import { Interpreter } from "./jinja/interpreter.js";
import { parse } from "./jinja/parser.js";
import { Scope } from "./jinja/scope.js";
import { storedFirst } from "./jinja/stored-first.js";
import type { Statement } from "./jinja/syntax.js";
import { TemplateLimit } from "./jinja/template-errors.js";
import { TESTS } from "./jinja/predicates.js";
import type { Value } from "./jinja/values.js";

const KNOWN = { hasFilter: (name: string) => FILTERS.has(name), hasTest: (name: string) => TESTS.has(name) };

/**
 * What a rendering may cost, in units of about one evaluated expression (see `Budget`). Usual templates need about a hundred units
 * a message. All of it is spent within 0.1 s on a quiet core of 2020, whatever the template does.
 */
const UNITS = 400_000;

/** A chat template that was read: Jinja2 as `transformers` runs it (`trim_blocks`, `lstrip_blocks`, immutable sandbox). */
export class TemplateProgram {
  readonly #statements: readonly Statement[];
  readonly #own: readonly string[];

  /** @throws Error where the template is not valid Jinja */
  constructor(template: string) {
    this.#statements = guarded(() => parse(template, KNOWN));
    this.#own = guarded(() => storedFirst(this.#statements));
  }

  /**
   * Prints the template with these variables.
   * @param extra - units for long conversations, on top of what every rendering may cost
   */
  run(variables: ReadonlyMap<string, Value>, extra = 0): string {
    const scope = new Scope();
    for (const [name, value] of variables) scope.set(name, value);
    return guarded(() => new Interpreter(new Budget(UNITS + extra)).run(this.#statements, scope, this.#own));
  }
}

/** Nesting that is too deep for the stack is too deep for a template; so is text beyond what the engine can hold. */
function guarded<Result>(action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    if (error instanceof RangeError)
      throw new TemplateLimit(`it is nested too deeply or makes too long a text (${error.message})`);
    throw error;
  }
}
