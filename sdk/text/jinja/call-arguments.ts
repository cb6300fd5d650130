import { typeError } from "./template-errors.js";
import type { CallArguments, Value } from "./values.js";

/**
 * Values of a function's parameters in order, `undefined` where one is not given.
 * @throws TemplateError for too many, unknown, doubled or missing arguments
 */
export function bind(
  name: string,
  args: CallArguments,
  parameters: readonly string[],
  required = 0,
): (Value | undefined)[] {
  if (args.positional.length > parameters.length) {
    throw typeError(`${name}() takes at most ${parameters.length} arguments (${args.positional.length} given)`);
  }
  const values: (Value | undefined)[] = parameters.map((_, index) => args.positional[index]);
  for (const [key, value] of args.named) {
    const index = parameters.indexOf(key);
    if (index < 0) throw typeError(`${name}() got an unexpected keyword argument '${key}'`);
    if (index < args.positional.length) throw typeError(`${name}() got multiple values for argument '${key}'`);
    values[index] = value;
  }
  for (let index = 0; index < required; index++) {
    if (values[index] === undefined) throw typeError(`${name}() missing required argument: '${parameters[index]}'`);
  }
  return values;
}

export function positional(...values: Value[]): CallArguments {
  return { positional: values, named: NO_NAMES };
}

export const NO_NAMES: ReadonlyMap<string, Value> = new Map();
