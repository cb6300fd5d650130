import type { Token, TokenType } from "./lexer.js";
import type { Arguments, BinaryOperator, BlockFilter, CompareOperator, Expression, Slice } from "./syntax.js";
import { NO_ARGUMENTS } from "./syntax.js";
import { TemplateError } from "./template-errors.js";

/** Names that templates may use; others are refused when the template is read, as Jinja2 does. */
export interface KnownNames {
  hasFilter(name: string): boolean;
  hasTest(name: string): boolean;
}

const COMPARISONS: ReadonlySet<string> = new Set(["==", "!=", "<", "<=", ">", ">="]);
const CONSTANTS: ReadonlyMap<string, boolean | null> = new Map([
  ["true", true],
  ["True", true],
  ["false", false],
  ["False", false],
  ["none", null],
  ["None", null],
]);

/** Expressions by the grammar of Jinja2's parser, method by method: its precedences differ from Python's in places. */
export class ExpressionParser {
  protected readonly tokens: readonly Token[];
  readonly #known: KnownNames;
  protected at = 0;
  /** Above 0 inside conditions' branches, where Jinja2 leaves unknown filters and tests to the run. */
  protected conditional = 0;
  /** What is wrong with names outside of conditions. */
  protected readonly unknown: string[] = [];

  constructor(tokens: readonly Token[], known: KnownNames) {
    this.tokens = tokens;
    this.#known = known;
  }

  protected get current(): Token {
    return this.tokens[this.at]!;
  }

  protected is(type: TokenType, value?: string, ahead = 0): boolean {
    const token = this.tokens[Math.min(this.at + ahead, this.tokens.length - 1)]!;
    return token.type === type && (value === undefined || token.value === value);
  }

  protected isOperator(value: string): boolean {
    return this.is("operator", value);
  }

  protected isName(value: string): boolean {
    return this.is("name", value);
  }

  protected skip(type: TokenType, value: string): boolean {
    if (!this.is(type, value)) return false;
    this.at++;
    return true;
  }

  protected expect(type: TokenType, value?: string): Token {
    if (!this.is(type, value))
      throw this.fail(`expected ${value === undefined ? type : `'${value}'`}, got ${this.#shown()}`);
    return this.tokens[this.at++]!;
  }

  protected fail(message: string): TemplateError {
    return new TemplateError("TemplateSyntaxError", `${message} (line ${this.current.line})`);
  }

  #shown(): string {
    const { type, value } = this.current;
    if (type === "eof") return "the end of the template";
    if (type === "end" || type === "print-end") return "the end of the tag";
    return `'${value}'`;
  }

  /** One expression, or several with commas between them: a tuple. */
  protected tuple(withCondition = true, ends: readonly string[] = [], mayBeEmpty = false): Expression {
    const items: Expression[] = [];
    let isTuple = false;
    for (;;) {
      if (items.length > 0) this.expect("operator", ",");
      if (this.isTupleEnd(ends)) break;
      items.push(this.expression(withCondition));
      if (!this.isOperator(",")) break;
      isTuple = true;
    }
    if (!isTuple) {
      if (items.length > 0) return items[0]!;
      if (!mayBeEmpty) throw this.fail(`Expected an expression, got ${this.#shown()}`);
    }
    return { kind: "tuple", items };
  }

  protected isTupleEnd(ends: readonly string[]): boolean {
    if (this.is("end") || this.is("print-end") || this.isOperator(")")) return true;
    return ends.some((name) => this.isName(name));
  }

  protected expression(withCondition = true): Expression {
    return withCondition ? this.#condition() : this.#or();
  }

  #condition(): Expression {
    const unknownBefore = this.unknown.length;
    let then = this.#or();
    while (this.skip("name", "if")) {
      this.unknown.length = unknownBefore;
      this.conditional++;
      const test = this.#or();
      const otherwise = this.skip("name", "else") ? this.#condition() : undefined;
      this.conditional--;
      then = { kind: "conditional", test, then, otherwise };
    }
    return then;
  }

  #or(): Expression {
    let left = this.#and();
    while (this.skip("name", "or")) left = { kind: "or", left, right: this.#and() };
    return left;
  }

  #and(): Expression {
    let left = this.#not();
    while (this.skip("name", "and")) left = { kind: "and", left, right: this.#not() };
    return left;
  }

  #not(): Expression {
    return this.skip("name", "not") ? { kind: "not", operand: this.#not() } : this.#compare();
  }

  #compare(): Expression {
    const first = this.#sum();
    const rest: [CompareOperator, Expression][] = [];
    for (;;) {
      if (this.current.type === "operator" && COMPARISONS.has(this.current.value)) {
        const operator = this.tokens[this.at++]!.value as CompareOperator;
        rest.push([operator, this.#sum()]);
      } else if (this.skip("name", "in")) {
        rest.push(["in", this.#sum()]);
      } else if (this.isName("not") && this.is("name", "in", 1)) {
        this.at += 2;
        rest.push(["not in", this.#sum()]);
      } else {
        return rest.length === 0 ? first : { kind: "compare", first, rest };
      }
    }
  }

  #sum(): Expression {
    return this.#binary(["+", "-"], () => this.#concatenation());
  }

  #concatenation(): Expression {
    const items = [this.#product()];
    while (this.skip("operator", "~")) items.push(this.#product());
    return items.length === 1 ? items[0]! : { kind: "concatenate", items };
  }

  #product(): Expression {
    return this.#binary(["*", "/", "//", "%"], () => this.#power());
  }

  #power(): Expression {
    return this.#binary(["**"], () => this.#unary());
  }

  #binary(operators: readonly BinaryOperator[], operand: () => Expression): Expression {
    let left = operand();
    for (;;) {
      const operator = operators.find((each) => this.isOperator(each));
      if (!operator) return left;
      this.at++;
      left = { kind: "binary", operator, left, right: operand() };
    }
  }

  #unary(withFilter = true): Expression {
    let node: Expression;
    if (this.skip("operator", "-")) node = { kind: "negative", operand: this.#unary(false) };
    else if (this.skip("operator", "+")) node = { kind: "positive", operand: this.#unary(false) };
    else node = this.#primary();
    node = this.postfix(node);
    return withFilter ? this.#filtersAndTests(node) : node;
  }

  #primary(): Expression {
    const token = this.current;
    this.at++;
    // eslint-disable-next-line @typescript-eslint/switch-exhaustiveness-check
    switch (token.type) {
      case "name": {
        const value = CONSTANTS.get(token.value);
        return value === undefined ? { kind: "name", name: token.value } : { kind: "constant", value };
      }
      case "string": {
        let { value } = token;
        while (this.is("string")) value += this.tokens[this.at++]!.value;
        return { kind: "constant", value };
      }
      case "integer":
        return { kind: "constant", value: BigInt(token.value) };
      case "float":
        return { kind: "constant", value: Number(token.value) };
      case "operator":
        if (token.value === "(") {
          const node = this.tuple(true, [], true);
          this.expect("operator", ")");
          return node;
        }
        if (token.value === "[") return { kind: "list", items: this.#listed("]", () => this.expression()) };
        if (token.value === "{") return { kind: "dict", entries: this.#listed("}", () => this.#entry()) };
    }
    this.at--;
    throw this.fail(`unexpected ${this.#shown()}`);
  }

  #listed<Item>(end: string, item: () => Item): Item[] {
    const items: Item[] = [];
    while (!this.isOperator(end)) {
      if (items.length > 0) this.expect("operator", ",");
      if (this.isOperator(end)) break;
      items.push(item());
    }
    this.at++;
    return items;
  }

  #entry(): [Expression, Expression] {
    const key = this.expression();
    this.expect("operator", ":");
    return [key, this.expression()];
  }

  /** `.name`, `[index]` and `(arguments)` behind an expression. */
  protected postfix(node: Expression): Expression {
    for (;;) {
      if (this.skip("operator", ".")) {
        const token = this.current;
        this.at++;
        if (token.type === "name") node = { kind: "attribute", object: node, name: token.value };
        else if (token.type !== "integer") throw this.fail("expected name or number");
        else node = { kind: "item", object: node, index: { kind: "constant", value: BigInt(token.value) } };
      } else if (this.skip("operator", "[")) {
        node = { kind: "item", object: node, index: this.#index() };
      } else if (this.isOperator("(")) {
        node = { kind: "call", callee: node, args: this.arguments() };
      } else {
        return node;
      }
    }
  }

  #index(): Expression | Slice {
    const parts: (Expression | Slice)[] = [];
    while (!this.isOperator("]")) {
      if (parts.length > 0) this.expect("operator", ",");
      parts.push(this.#subscript());
    }
    this.expect("operator", "]");
    if (parts.length === 1) return parts[0]!;
    if (parts.some((part) => part.kind === "slice")) throw this.fail("several slices in one index are not supported");
    return { kind: "tuple", items: parts as Expression[] };
  }

  #subscript(): Expression | Slice {
    const isEnd = (): boolean => this.isOperator("]") || this.isOperator(",");
    let start: Expression | undefined;
    if (!this.isOperator(":")) {
      start = this.expression();
      if (!this.isOperator(":")) return start;
    }
    this.expect("operator", ":");
    const stop = this.isOperator(":") || isEnd() ? undefined : this.expression();
    const step = this.skip("operator", ":") && !isEnd() ? this.expression() : undefined;
    return { kind: "slice", start, stop, step };
  }

  protected arguments(): Arguments {
    this.expect("operator", "(");
    const args: Arguments = { positional: [], named: [], spread: undefined, namedSpread: undefined };
    const ensure = (fine: boolean): void => {
      if (!fine) throw this.fail("invalid syntax for function call expression");
    };
    for (let first = true; !this.isOperator(")"); first = false) {
      if (!first) {
        this.expect("operator", ",");
        if (this.isOperator(")")) break;
      }
      if (this.skip("operator", "*")) {
        ensure(args.spread === undefined && args.namedSpread === undefined);
        args.spread = this.expression();
      } else if (this.skip("operator", "**")) {
        ensure(args.namedSpread === undefined);
        args.namedSpread = this.expression();
      } else if (this.is("name") && this.is("operator", "=", 1)) {
        ensure(args.namedSpread === undefined);
        const name = this.current.value;
        this.at += 2;
        args.named.push([name, this.expression()]);
      } else {
        ensure(args.spread === undefined && args.namedSpread === undefined && args.named.length === 0);
        args.positional.push(this.expression());
      }
    }
    this.expect("operator", ")");
    return args;
  }

  #filtersAndTests(node: Expression): Expression {
    for (;;) {
      if (this.skip("operator", "|")) node = { kind: "filter", operand: node, ...this.filter() };
      else if (this.skip("name", "is")) node = this.#test(node);
      else if (this.isOperator("(")) node = { kind: "call", callee: node, args: this.arguments() };
      else return node;
    }
  }

  /** A filter's name and arguments, behind the `|`. */
  protected filter(): BlockFilter {
    const name = this.#dottedName();
    this.#check(this.#known.hasFilter(name), `No filter named '${name}'.`);
    return { name, args: this.isOperator("(") ? this.arguments() : NO_ARGUMENTS };
  }

  #test(operand: Expression): Expression {
    const negated = this.skip("name", "not");
    const name = this.#dottedName();
    this.#check(this.#known.hasTest(name), `No test named '${name}'.`);
    let args = NO_ARGUMENTS;
    if (this.isOperator("(")) args = this.arguments();
    else if (this.#beginsTestArgument()) {
      if (this.isName("is")) throw this.fail("You cannot chain multiple tests with is");
      args = { ...NO_ARGUMENTS, positional: [this.postfix(this.#primary())] };
    }
    const node: Expression = { kind: "test", operand, name, args };
    return negated ? { kind: "not", operand: node } : node;
  }

  #beginsTestArgument(): boolean {
    const { type, value } = this.current;
    if (type === "name") return value !== "else" && value !== "or" && value !== "and";
    return (
      type === "string" || type === "integer" || type === "float" || (type === "operator" && "([{".includes(value))
    );
  }

  #dottedName(): string {
    let name = this.expect("name").value;
    while (this.skip("operator", ".")) name += `.${this.expect("name").value}`;
    return name;
  }

  #check(known: boolean, message: string): void {
    if (!known && this.conditional === 0) this.unknown.push(message);
  }
}
