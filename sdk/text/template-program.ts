import * as jinja from "@huggingface/jinja";

// Most of the package's declarations do not resolve in ESM projects; the parts that are used are described by hand.
const { Template, Environment, Interpreter } = jinja as unknown as {
  Template: new (template: string) => { parsed: unknown };
  Environment: new () => { set(name: string, value: unknown): unknown };
  Interpreter: new (environment: object) => { run(program: unknown): { value: string } };
};

/** Name under which rewritten method calls find {@link callStringMethod}. */
const METHOD_CALL = "__pergola_string_method";

/**
 * A parsed chat template. String methods of Python that templates use and `@huggingface/jinja` lacks (`find`, `count`,
 * `removeprefix`, ...) or gets wrong (`strip`, `lstrip` and `rstrip` ignore which characters to strip) are supplied by turning
 * their calls into calls of a function.
 */
export class TemplateProgram {
  readonly #program: unknown;

  /** @throws Error where the template is not valid Jinja */
  constructor(template: string) {
    this.#program = rewrite(new Template(template).parsed);
  }

  /** Prints the template with these variables. */
  run(variables: Record<string, unknown>): string {
    const environment = new Environment();
    environment.set(METHOD_CALL, callStringMethod);
    for (const [key, value] of Object.entries(variables)) environment.set(key, value);
    return new Interpreter(environment).run(this.#program).value;
  }
}

interface SyntaxNode {
  type: string;
  [field: string]: unknown;
}

/** Rewrites `object.method(arguments)` in place, wherever it stands. */
function rewrite(value: unknown): unknown {
  if (Array.isArray(value)) {
    for (const [index, entry] of value.entries()) value[index] = rewrite(entry);
  } else if (value instanceof Map) {
    for (const [key, entry] of value as Map<unknown, unknown>) value.set(key, rewrite(entry));
  } else if (value !== null && typeof value === "object") {
    const node = value as SyntaxNode;
    for (const key of Object.keys(node)) node[key] = rewrite(node[key]);
    return node.type === "CallExpression" ? rewriteCall(node) : node;
  }
  return value;
}

function rewriteCall(call: SyntaxNode): SyntaxNode {
  const callee = call["callee"] as SyntaxNode;
  const method = callee["property"] as SyntaxNode | undefined;
  if (callee.type !== "MemberExpression" || callee["computed"] === true || method?.type !== "Identifier") return call;
  const name = method["value"] as string;
  const args = call["args"] as SyntaxNode[];
  if (!(name in METHODS) || (STRIPS.has(name) && args.length === 0)) return call;
  return {
    ...call,
    callee: { type: "Identifier", value: METHOD_CALL },
    args: [callee["object"], { type: "StringLiteral", value: name }, ...args],
  };
}

const STRIPS: ReadonlySet<string> = new Set(["strip", "lstrip", "rstrip"]);

const METHODS: Record<string, (text: string, ...args: never[]) => unknown> = {
  strip: (text, characters: string) => stripEnd(stripStart(text, characters), characters),
  lstrip: (text, characters: string) => stripStart(text, characters),
  rstrip: (text, characters: string) => stripEnd(text, characters),
  find: (text, part: string, start?: number) => text.indexOf(part, start),
  count: (text, part: string) => (part === "" ? Array.from(text).length + 1 : text.split(part).length - 1),
  removeprefix: (text, prefix: string) => (text.startsWith(prefix) ? text.slice(prefix.length) : text),
  removesuffix: (text, suffix: string) =>
    suffix !== "" && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text,
  splitlines: (text) => (text === "" ? [] : text.replace(/(\r\n|\r|\n)$/, "").split(/\r\n|\r|\n/)),
  isdigit: (text) => /^\p{Nd}+$/u.test(text),
  isspace: (text) => /^\s+$/u.test(text),
  swapcase: (text) => Array.from(text, (c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())).join(""),
};

function callStringMethod(text: unknown, name: string, ...args: never[]): unknown {
  if (typeof text !== "string") throw new TypeError(`"${name}" is called on a value that is not a string`);
  return METHODS[name]!(text, ...args);
}

function stripStart(text: string, characters: string): string {
  const stripped = new Set(characters);
  const kept = Array.from(text);
  let start = 0;
  while (start < kept.length && stripped.has(kept[start]!)) start++;
  return kept.slice(start).join("");
}

function stripEnd(text: string, characters: string): string {
  const stripped = new Set(characters);
  const kept = Array.from(text);
  while (kept.length > 0 && stripped.has(kept.at(-1)!)) kept.pop();
  return kept.join("");
}
