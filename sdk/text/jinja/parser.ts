import { ExpressionParser, type KnownNames } from "./expression-parser.js";
import { tokenize } from "./lexer.js";
import type { BlockFilter, Expression, Signature, Statement, Target } from "./syntax.js";
import { TemplateError, unsupported } from "./template-errors.js";

/** Statements of Jinja2 that need other templates or change how text is printed. */
const REFUSED: ReadonlySet<string> = new Set(["block", "extends", "include", "import", "from", "autoescape"]);
const RESERVED: ReadonlySet<string> = new Set(["true", "false", "none", "True", "False", "None"]);

/** The statements of a template. @throws TemplateError where it is no template, or uses what is not supported */
export function parse(template: string, known: KnownNames): Statement[] {
  return new Parser(tokenize(template), known).template();
}

class Parser extends ExpressionParser {
  /** Loops around the place, for `break` and `continue`. */
  #loops = 0;

  template(): Statement[] {
    const body = this.#body([]);
    this.expect("eof");
    if (this.unknown.length > 0) throw new TemplateError("TemplateAssertionError", this.unknown[0]!);
    return body;
  }

  /** Statements up to a tag with one of these names, which is left in place. */
  #body(ends: readonly string[]): Statement[] {
    const body: Statement[] = [];
    for (;;) {
      const { type, value } = this.current;
      if (type === "eof") {
        if (ends.length > 0)
          throw this.fail(`Unexpected end of template, expected ${ends.map((end) => `'${end}'`).join(" or ")}`);
        return body;
      }
      this.at++;
      if (type === "text") body.push({ kind: "text", text: value });
      else if (type === "print-begin") {
        body.push({ kind: "print", value: this.tuple() });
        this.expect("print-end");
      } else {
        if (ends.some((end) => this.isName(end))) return body;
        body.push(this.#statement());
        this.expect("end");
      }
    }
  }

  /** The body of a block, behind its tag; the end's name is consumed. */
  #block(end: string): Statement[] {
    this.#openBody();
    const body = this.#body([end]);
    this.expect("name", end);
    return body;
  }

  #openBody(): void {
    this.skip("operator", ":");
    this.expect("end");
  }

  #statement(): Statement {
    const name = this.expect("name").value;
    switch (name) {
      case "if":
        return this.#if();
      case "for":
        return this.#for();
      case "set":
        return this.#set();
      case "with":
        return this.#with();
      case "macro": {
        const macro = this.#targetName();
        const signature = this.#signature();
        return { kind: "macro", name: macro, signature, body: this.#apart("endmacro") };
      }
      case "call":
        return this.#call();
      case "filter": {
        const filters = this.#filters(true);
        return { kind: "filter-block", filters, body: this.#block("endfilter") };
      }
      case "generation":
        return { kind: "generation", body: this.#apart("endgeneration") };
      case "print":
        return { kind: "print", value: this.#printed() };
      case "break":
      case "continue":
        if (this.#loops === 0) throw this.fail(`'${name}' outside loop`);
        return { kind: name };
    }
    if (REFUSED.has(name)) throw unsupported(`The statement "${name}" (line ${this.current.line})`);
    throw this.fail(`Encountered unknown tag '${name}'.`);
  }

  /** Several expressions, one behind the other. */
  #printed(): Expression {
    const items: Expression[] = [];
    while (!this.is("end")) {
      if (items.length > 0) this.expect("operator", ",");
      items.push(this.expression());
    }
    return { kind: "concatenate", items };
  }

  /** A body that is a function of its own in Jinja2: loops around it cannot be left from inside. */
  #apart(end: string): Statement[] {
    const loops = this.#loops;
    this.#loops = 0;
    const body = this.#block(end);
    this.#loops = loops;
    return body;
  }

  #if(): Statement {
    const test = this.tuple(false);
    this.#openBody();
    this.conditional++;
    const body = this.#body(["elif", "else", "endif"]);
    let otherwise: Statement[] = [];
    if (this.skip("name", "elif")) {
      otherwise = [this.#if()];
    } else if (this.skip("name", "else")) {
      otherwise = this.#block("endif");
    } else {
      this.expect("name", "endif");
    }
    this.conditional--;
    return { kind: "if", test, body, otherwise };
  }

  #for(): Statement {
    const target = this.#target(["in"], false);
    this.expect("name", "in");
    const iterable = this.tuple(false, ["recursive"]);
    const test = this.skip("name", "if") ? this.expression() : undefined;
    const recursive = this.skip("name", "recursive");
    const conditional = this.conditional;
    this.conditional = 0;
    this.#loops++;
    this.#openBody();
    const body = this.#body(["endfor", "else"]);
    this.#loops--;
    const otherwise = this.skip("name", "else") ? this.#block("endfor") : [];
    if (otherwise.length === 0) this.skip("name", "endfor");
    this.conditional = conditional;
    return { kind: "for", target, iterable, test, body, otherwise, recursive };
  }

  #set(): Statement {
    const target = this.#target([], true);
    if (this.skip("operator", "=")) return { kind: "set", target, value: this.tuple() };
    const filters = this.#filters(false);
    return { kind: "set-block", target, filters, body: this.#block("endset") };
  }

  #with(): Statement {
    const bindings: [Target, Expression][] = [];
    while (!this.is("end")) {
      if (bindings.length > 0) this.expect("operator", ",");
      const target = this.#target([], false);
      this.expect("operator", "=");
      bindings.push([target, this.expression()]);
    }
    return { kind: "with", bindings, body: this.#block("endwith") };
  }

  #call(): Statement {
    const signature = this.isOperator("(") ? this.#signature() : { parameters: [], defaults: [] };
    const call = this.expression();
    if (call.kind !== "call") throw this.fail("expected call");
    return { kind: "call-block", call, signature, body: this.#apart("endcall") };
  }

  #filters(begun: boolean): BlockFilter[] {
    const filters = begun ? [this.filter()] : [];
    while (this.skip("operator", "|")) filters.push(this.filter());
    return filters;
  }

  #signature(): Signature {
    const signature: Signature = { parameters: [], defaults: [] };
    this.expect("operator", "(");
    while (!this.isOperator(")")) {
      if (signature.parameters.length > 0) this.expect("operator", ",");
      signature.parameters.push(this.#targetName());
      if (this.skip("operator", "=")) signature.defaults.push(this.expression());
      else if (signature.defaults.length > 0) throw this.fail("non-default argument follows default argument");
    }
    this.expect("operator", ")");
    return signature;
  }

  #target(ends: readonly string[], withMembers: boolean): Target {
    const items: Target[] = [];
    let isTuple = false;
    for (;;) {
      if (items.length > 0) this.expect("operator", ",");
      if (this.isTupleEnd(ends)) break;
      items.push(this.#singleTarget(withMembers));
      if (!this.isOperator(",")) break;
      isTuple = true;
    }
    if (items.length === 0) throw this.fail("Expected an expression");
    return isTuple ? { kind: "targets", items } : items[0]!;
  }

  #singleTarget(withMembers: boolean): Target {
    if (this.skip("operator", "(")) {
      const target = this.#target([], false);
      this.expect("operator", ")");
      return target;
    }
    const name = this.#targetName();
    if (!withMembers || !this.skip("operator", ".")) return { kind: "name", name };
    return { kind: "member", namespace: name, name: this.expect("name").value };
  }

  #targetName(): string {
    const { value } = this.expect("name");
    if (RESERVED.has(value)) throw this.fail(`can't assign to '${value}'`);
    return value;
  }
}
