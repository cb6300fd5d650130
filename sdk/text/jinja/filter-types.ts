import type { Budget } from "./budget.js";
import type { CallArguments, Value } from "./values.js";

/** What filters may use of the interpreter that runs them. */
export interface FilterContext {
  budget: Budget;
  readonly hasFilter: (name: string) => boolean;
  readonly hasTest: (name: string) => boolean;
  filter(name: string, value: Value, args: CallArguments): Value;
  test(name: string, value: Value, args: CallArguments): boolean;
}

export type Filter = (value: Value, args: CallArguments, context: FilterContext) => Value;
export type Test = (value: Value, args: CallArguments, context: FilterContext) => boolean;
