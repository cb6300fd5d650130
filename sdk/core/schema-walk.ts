import type { z } from "zod";

/** The parts of zod's definitions that are walked here; every schema has one. */
interface Definition {
  type: string;
  innerType?: z.ZodType;
  in?: z.ZodType;
  element?: z.ZodType;
  valueType?: z.ZodType;
  shape?: Record<string, z.ZodType>;
  options?: z.ZodType[];
}

/** The schema that applies at a path of a parsed value, when there is exactly one way to get there. */
export function schemaAt(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodType | undefined {
  let candidates: z.ZodType[] = [schema];
  for (const key of path) {
    candidates = candidates.flatMap(alternatives).flatMap((candidate) => {
      const definition = definitionOf(candidate);
      if (definition.shape) return definition.shape[key as string] ?? [];
      return definition.element ?? definition.valueType ?? [];
    });
  }
  return candidates[0];
}

/** Names that an object at this path may have; empty where it is no object with fixed names. */
export function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  const target = path.length === 0 ? schema : schemaAt(schema, path);
  if (target === undefined) return [];
  return [...new Set(alternatives(target).flatMap((candidate) => Object.keys(definitionOf(candidate).shape ?? {})))];
}

/** Says in words what a value should have been: the schema's own description, else what zod's issue tells. */
export function describeExpected(issue: z.core.$ZodIssue, schema: z.ZodType | undefined): string {
  const described = schema && descriptionOf(schema);
  if (described !== undefined) return described;
  switch (issue.code) {
    case "invalid_type":
      return withArticle(TYPE_NAMES[issue.expected] ?? issue.expected);
    case "invalid_value":
      return oneOf(issue.values);
    case "too_small":
      return bound(issue.origin, issue.inclusive === false ? ">" : "at least", issue.minimum);
    case "too_big":
      return bound(issue.origin, issue.inclusive === false ? "<" : "at most", issue.maximum);
    case "invalid_union":
      // Of a union whose branches a field tells apart, where the field names none.
      if ("options" in issue && Array.isArray(issue.options)) return oneOf(issue.options);
      return unionExpected(issue.errors);
    default:
      return `valid (${issue.message})`;
  }
}

/** zod's words that are not everybody's. */
const TYPE_NAMES: Record<string, string | undefined> = { int: "whole number", nonoptional: "value", record: "object" };

function oneOf(values: readonly unknown[]): string {
  return `one of ${values.map((value) => JSON.stringify(value)).join(", ")}`;
}

function bound(origin: string, relation: string, limit: number | bigint): string {
  if (origin === "string") return `a string of ${relation} ${limit} character${limit === 1 ? "" : "s"}`;
  if (origin === "array") return `an array of ${relation} ${limit} element${limit === 1 ? "" : "s"}`;
  return `${relation} ${limit}`;
}

function unionExpected(branches: z.core.$ZodIssue[][]): string {
  const wanted = branches.flatMap((branch) => (branch[0] ? [describeExpected(branch[0], undefined)] : []));
  return [...new Set(wanted)].join(" or ") || "one of the accepted forms";
}

function descriptionOf(schema: z.ZodType): string | undefined {
  if (schema.description !== undefined) return schema.description;
  const { innerType, in: input } = definitionOf(schema);
  const inner = innerType ?? input;
  return inner && descriptionOf(inner);
}

/** Takes off wrappers (optional, default, pipe) and opens unions. */
function alternatives(schema: z.ZodType): z.ZodType[] {
  const definition = definitionOf(schema);
  if (definition.options) return definition.options.flatMap(alternatives);
  const inner = definition.innerType ?? definition.in;
  return inner ? alternatives(inner) : [schema];
}

function definitionOf(schema: z.ZodType): Definition {
  return schema.def;
}

function withArticle(type: string): string {
  if (type === "undefined" || type === "null") return type;
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}
