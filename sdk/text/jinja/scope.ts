import type { Value } from "./values.js";

/** Variables of a part of the template; what is not there is looked up outside. */
export class Scope {
  readonly #variables = new Map<string, Value>();
  readonly #outer: Scope | undefined;

  constructor(outer?: Scope) {
    this.#outer = outer;
  }

  get(name: string): Value | undefined {
    // eslint-disable-next-line @typescript-eslint/no-this-alias
    for (let scope: Scope | undefined = this; scope; scope = scope.#outer) {
      const value = scope.#variables.get(name);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  set(name: string, value: Value): void {
    this.#variables.set(name, value);
  }
}
