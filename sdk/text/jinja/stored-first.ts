import type { Statement, Target } from "./syntax.js";

/**
 * Names that the template assigns before it reads them, outside of loops, macros and conditions. Jinja2 takes these for the
 * template's own from the start: until the assignment they are undefined, whatever was passed under the name, and so they are in loops
 * and macros that stand or run before it.
 */
export function storedFirst(template: readonly Statement[]): string[] {
  const read = new Set<string>();
  const stored = new Set<string>();
  visit(template, read, (name) => !read.has(name) && stored.add(name));
  return [...stored];
}

function visit(body: readonly Statement[], read: Set<string>, store: (name: string) => void): void {
  for (const statement of body) {
    // eslint-disable-next-line @typescript-eslint/switch-exhaustiveness-check
    switch (statement.kind) {
      case "print":
        collect(statement.value, read);
        break;
      case "if":
        collect(statement.test, read);
        // What is assigned in some branches only may still be what was passed.
        for (const branch of [statement.body, statement.otherwise]) visit(branch, read, (name) => read.add(name));
        break;
      case "for":
        collect(statement.iterable, read);
        break;
      case "set":
        collect(statement.value, read);
        assign(statement.target, read, store);
        break;
      case "set-block":
        assign(statement.target, read, store);
        break;
      case "with":
        collect(statement.bindings, read);
        break;
      case "macro":
        store(statement.name);
        break;
      case "call-block":
        collect(statement.call, read);
        break;
      case "filter-block":
        collect(statement.filters, read);
    }
  }
}

function assign(target: Target, read: Set<string>, store: (name: string) => void): void {
  if (target.kind === "name") store(target.name);
  else if (target.kind === "member") read.add(target.namespace);
  else for (const item of target.items) assign(item, read, store);
}

/** Names that stand in an expression. */
function collect(node: unknown, names: Set<string>): void {
  if (node === null || typeof node !== "object") return;
  const { kind, name } = node as { kind?: unknown; name?: unknown };
  if (kind === "name") names.add(name as string);
  for (const part of Object.values(node)) collect(part, names);
}
