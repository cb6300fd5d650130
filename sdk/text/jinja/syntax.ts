/** The syntax tree of a template, in the shape of Jinja2's own (`jinja2.nodes`). */
export type Expression =
  | { kind: "constant"; value: null | boolean | bigint | number | string }
  | { kind: "name"; name: string }
  | { kind: "tuple" | "list"; items: Expression[] }
  | { kind: "dict"; entries: [key: Expression, value: Expression][] }
  | { kind: "attribute"; object: Expression; name: string }
  | { kind: "item"; object: Expression; index: Expression | Slice }
  | { kind: "call"; callee: Expression; args: Arguments }
  | { kind: "filter"; operand: Expression; name: string; args: Arguments }
  | { kind: "test"; operand: Expression; name: string; args: Arguments }
  | { kind: "not" | "negative" | "positive"; operand: Expression }
  | { kind: "and" | "or"; left: Expression; right: Expression }
  | { kind: "binary"; operator: BinaryOperator; left: Expression; right: Expression }
  | { kind: "concatenate"; items: Expression[] }
  | { kind: "compare"; first: Expression; rest: [operator: CompareOperator, operand: Expression][] }
  | { kind: "conditional"; test: Expression; then: Expression; otherwise: Expression | undefined };

export type BinaryOperator = "+" | "-" | "*" | "/" | "//" | "%" | "**";
export type CompareOperator = "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in";

export interface Slice {
  kind: "slice";
  start: Expression | undefined;
  stop: Expression | undefined;
  step: Expression | undefined;
}

export interface Arguments {
  positional: Expression[];
  named: [name: string, value: Expression][];
  /** `*list` */
  spread: Expression | undefined;
  /** `**mapping` */
  namedSpread: Expression | undefined;
}

export const NO_ARGUMENTS: Arguments = { positional: [], named: [], spread: undefined, namedSpread: undefined };

/** What can be assigned to. */
export type Target =
  | { kind: "name"; name: string }
  | { kind: "member"; namespace: string; name: string }
  | { kind: "targets"; items: Target[] };

export interface Signature {
  parameters: string[];
  /** Of the last parameters. */
  defaults: Expression[];
}

/** A filter of a block: without an operand. */
export interface BlockFilter {
  name: string;
  args: Arguments;
}

export type Statement =
  | { kind: "text"; text: string }
  | { kind: "print"; value: Expression }
  | { kind: "if"; test: Expression; body: Statement[]; otherwise: Statement[] }
  | {
      kind: "for";
      target: Target;
      iterable: Expression;
      test: Expression | undefined;
      body: Statement[];
      otherwise: Statement[];
      recursive: boolean;
    }
  | { kind: "set"; target: Target; value: Expression }
  | { kind: "set-block"; target: Target; filters: BlockFilter[]; body: Statement[] }
  | { kind: "with"; bindings: [target: Target, value: Expression][]; body: Statement[] }
  | { kind: "macro"; name: string; signature: Signature; body: Statement[] }
  | { kind: "call-block"; call: Expression & { kind: "call" }; signature: Signature; body: Statement[] }
  | { kind: "filter-block"; filters: BlockFilter[]; body: Statement[] }
  | { kind: "generation"; body: Statement[] }
  | { kind: "break" | "continue" };
