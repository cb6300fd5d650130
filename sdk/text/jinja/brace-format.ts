import type { Budget } from "./budget.js";
import { numberOf } from "./operations.js";
import { formatFloat } from "./percent-format.js";
import { print, repr } from "./printing.js";
import { TemplateError, typeError, unsupported, valueError } from "./template-errors.js";
import { lengthOf, pointsOf } from "./text.js";
import { typeOf, Undefined, type CallArguments, type Value } from "./values.js";

/** How `{a.b[c]}` finds its way. */
export interface Members {
  attribute(object: Value, name: string): Value;
  item(object: Value, index: Value): Value;
}

/** Python's `str.format`. */
export function formatBraces(template: string, args: CallArguments, members: Members, budget: Budget): string {
  let counter = 0;
  let style: "counted" | "numbered" | undefined;
  const chosen = (next: "counted" | "numbered"): void => {
    if (style !== undefined && style !== next) {
      throw valueError("cannot switch between manual field specification and automatic field numbering");
    }
    style = next;
  };
  const first = (name: string): Value => {
    if (/^\d*$/.test(name)) {
      chosen(name === "" ? "counted" : "numbered");
      const index = name === "" ? counter++ : Number(name);
      const value = args.positional[index];
      if (value === undefined) {
        throw new TemplateError("IndexError", `Replacement index ${index} out of range for positional args tuple`);
      }
      return value;
    }
    const value = args.named.get(name);
    if (value === undefined) throw new TemplateError("KeyError", `'${name}'`);
    return value;
  };
  const field = (text: string): string => {
    const [, path, conversion, spec = ""] = /^([^!:]*)(?:!([^:]*))?(?::([^]*))?$/.exec(text) ?? [];
    if (path === undefined) throw valueError("expected '}' before end of string");
    const [name] = /^[^.[]*/.exec(path)!;
    let value = first(name);
    for (const [step, attribute, index] of path.slice(name.length).matchAll(/\.([^.[]+)|\[([^\]]+)\]|[^]/g)) {
      if (attribute !== undefined) value = members.attribute(value, attribute);
      else if (index === undefined)
        throw valueError(`Only '.' or '[' may follow ']' in format field specifier: ${step}`);
      else value = members.item(value, /^\d+$/.test(index) ? BigInt(index) : index);
    }
    if (conversion !== undefined && conversion !== "r" && conversion !== "s")
      throw unsupported(`The conversion "!${conversion}"`);
    if (conversion === "r") value = repr(value, budget);
    if (conversion === "s") value = print(value, budget);
    if (spec.includes("{")) throw unsupported("A format inside a format");
    return formatValue(value, spec, budget);
  };
  let result = "";
  for (const [whole, literal, doubled, inner] of template.matchAll(
    /([^{}]+)|(\{\{|\}\})|\{((?:[^{}]|\{[^{}]*\})*)\}|[^]/g,
  )) {
    if (literal !== undefined) result += literal;
    else if (doubled !== undefined) result += doubled[0]!;
    else if (inner !== undefined) result += field(inner);
    else throw valueError(`Single '${whole}' encountered in format string`);
    budget.characters(result.length / 4);
  }
  return result;
}

const SPEC = /^(?:([^])?([<>=^]))?([-+ ])?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([a-zA-Z%])?$/u;

/** Python's `format(value, spec)` for text, integers and floats. */
function formatValue(value: Value, spec: string, budget: Budget): string {
  if (spec === "") return print(value, budget);
  const match = SPEC.exec(spec);
  if (!match) throw valueError(`Invalid format specifier '${spec}'`);
  const [, fill, align, sign, alternate, zero, width = "0", group, digits, type] = match;
  if (value instanceof Undefined) throw typeError("unsupported format string passed to Undefined.__format__");
  const number = numberOf(value);
  budget.characters(Number(width) + Number(digits ?? 0));
  const pad = (prefix: string, body: string, otherwise: string): string => {
    const missing = Math.max(0, Number(width) - lengthOf(prefix + body));
    const character = fill ?? (zero ? "0" : " ");
    const side = align ?? (zero ? "=" : otherwise);
    const before = side === ">" ? missing : side === "^" ? Math.floor(missing / 2) : 0;
    if (side === "=") return prefix + character.repeat(missing) + body;
    return character.repeat(before) + prefix + body + character.repeat(missing - before);
  };
  if (typeof value === "string") {
    if (type !== undefined && type !== "s") throw valueError(`Unknown format code '${type}' for object of type 'str'`);
    if (sign || alternate || group || align === "=")
      throw valueError("Sign, '#', ',' or '=' not allowed in string format specifier");
    const text = digits === undefined ? value : pointsOf(value).slice(0, Number(digits)).join("");
    return pad("", text, "<");
  }
  if (number === undefined || (typeof value === "boolean" && type === undefined)) {
    if (number === undefined) throw typeError(`unsupported format string passed to ${typeOf(value)}.__format__`);
    throw unsupported("A format of a boolean");
  }
  if (alternate || group === "_" || (zero && group)) throw unsupported(`The format "${spec}"`);
  const isNegative = number < 0 || Object.is(number, -0);
  const prefix = isNegative ? "-" : sign === "+" || sign === " " ? sign : "";
  let body: string;
  if (typeof number === "bigint" && (type === undefined || "dxXob".includes(type))) {
    if (digits !== undefined) throw valueError("Precision not allowed in integer format specifier");
    const base = { x: 16, X: 16, o: 8, b: 2 }[type ?? "d"] ?? 10;
    body = (isNegative ? -number : number).toString(base);
    if (type === "X") body = body.toUpperCase();
  } else if (type !== undefined && "fFeEgG%".includes(type)) {
    const style = type === "%" ? "f" : (type.toLowerCase() as "f" | "e" | "g");
    body = formatFloat(Math.abs(Number(number)) * (type === "%" ? 100 : 1), style, Number(digits ?? 6));
    if (type === "%") body += "%";
    if ("FEG".includes(type)) body = body.toUpperCase();
  } else if (typeof number === "number" && type === undefined && digits === undefined) {
    body = print(Math.abs(number), budget);
  } else {
    throw unsupported(`The format "${spec}" of a value of type ${typeOf(value)}`);
  }
  if (group) body = body.replace(/^\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));
  return pad(prefix, body, ">");
}
