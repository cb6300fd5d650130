import { bind } from "./call-arguments.js";
import type { Filter, FilterContext } from "./filter-types.js";
import { indexOf, textOf } from "./operations.js";
import { print } from "./printing.js";
import { SPACES } from "./lexer.js";
import { capitalize, centered, lower, replace, strip } from "./string-methods.js";
import { typeError, unsupported } from "./template-errors.js";
import { lengthOf, part } from "./text.js";
import {
  Dict,
  isIterable,
  List,
  listOf,
  Tuple,
  truth,
  typeOf,
  Undefined,
  type CallArguments,
  type Value,
} from "./values.js";

/** Filters that make text of text. Markup, where it comes in, stays out of them: escaped text is rare in prompts. */
export const TEXT_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ["capitalize", textFilter("capitalize", [], (text) => capitalize(text))],
  ["lower", textFilter("lower", [], lower)],
  ["upper", textFilter("upper", [], (text) => text.toUpperCase())],
  ["title", textFilter("title", [], title)],
  [
    "trim",
    textFilter("trim", ["chars"], (text, [characters = null]) =>
      strip(text, characters === null ? undefined : needText(characters)),
    ),
  ],
  ["center", textFilter("center", ["width"], center)],
  ["indent", indent],
  ["replace", replaceFilter],
  ["truncate", truncate],
  ["wordcount", textFilter("wordcount", [], (text) => BigInt((text.match(/[\p{L}\p{N}_]+/gu) ?? []).length))],
  ["urlencode", urlencode],
]);

function textFilter(
  name: string,
  parameters: readonly string[],
  action: (text: string, values: (Value | undefined)[], context: FilterContext) => Value,
): Filter {
  return (value, args, context) => {
    const text = print(value, context.budget);
    context.budget.characters(text.length * 4);
    return action(text, bind(name, args, parameters), context);
  };
}

function needText(value: Value): string {
  const text = textOf(value);
  if (text !== undefined) return text;
  if (value instanceof Undefined) throw value.error();
  throw typeError(`a text is needed, not ${typeOf(value)}`);
}

/** Jinja2's own rule: words begin behind white space, hyphens and opening brackets. */
function title(text: string): string {
  return text
    .split(new RegExp(`([-${SPACES}({[<]+)`))
    .map((word) => {
      const first = String.fromCodePoint(word.codePointAt(0) ?? 32);
      return word === "" ? "" : first.toUpperCase() + lower(word.slice(first.length));
    })
    .join("");
}

function center(text: string, [width = 80n]: (Value | undefined)[], { budget }: FilterContext): string {
  const total = indexOf(width);
  budget.characters(Math.max(0, total));
  const missing = Math.max(0, total - lengthOf(text));
  const left = centered(missing, total);
  return " ".repeat(left) + text + " ".repeat(missing - left);
}

function indent(value: Value, args: CallArguments, { budget }: FilterContext): Value {
  const [width = 4n, first = false, blank = false] = bind("indent", args, ["width", "first", "blank"]);
  if (value instanceof Undefined) throw value.error();
  const text = textOf(value);
  if (text === undefined) throw typeError(`unsupported operand type(s) for +=: '${typeOf(value)}' and 'str'`);
  const count = textOf(width) === undefined ? indexOf(width) : 0;
  budget.characters(Math.max(0, count));
  const space = textOf(width) ?? " ".repeat(Math.max(0, count));
  // eslint-disable-next-line no-control-regex
  const lines = text.split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/);
  budget.characters(text.length + lines.length * space.length);
  if (!truth(blank)) {
    const rest = lines.slice(1).map((line) => (line === "" ? "\n" : `\n${space}${line}`));
    return (truth(first) ? space : "") + lines[0]! + rest.join("");
  }
  return (truth(first) ? space : "") + lines.join(`\n${space}`);
}

/** With autoescape off markup counts as text here. */
function replaceFilter(value: Value, args: CallArguments, { budget }: FilterContext): Value {
  const [old, replacement, times = null] = bind("replace", args, ["old", "new", "count"], 2);
  return replace(
    print(value, budget),
    print(old!, budget),
    print(replacement!, budget),
    times === null ? -1 : indexOf(times),
    budget,
  );
}

function truncate(value: Value, args: CallArguments, { budget }: FilterContext): Value {
  const [length = 255n, killWords = false, end = "...", leeway = 5n] = bind("truncate", args, [
    "length",
    "killwords",
    "end",
    "leeway",
  ]);
  if (value instanceof Undefined) throw value.error();
  const text = needText(value);
  const ending = needText(end);
  budget.characters(text.length);
  const most = indexOf(length);
  if (most < lengthOf(ending)) throw typeError(`expected length >= ${lengthOf(ending)}, got ${most}`);
  if (indexOf(leeway) < 0) throw typeError("expected leeway >= 0");
  if (lengthOf(text) <= most + indexOf(leeway)) return text;
  const cut = part(text, 0, most - lengthOf(ending));
  const space = cut.lastIndexOf(" ");
  return (truth(killWords) || space < 0 ? cut : cut.slice(0, space)) + ending;
}

function urlencode(value: Value, args: CallArguments, { budget }: FilterContext): Value {
  bind("urlencode", args, []);
  const quoted = (each: Value, inQuery: boolean): string => {
    const text = print(each, budget);
    budget.characters(text.length * 3);
    if (/[\ud800-\udfff]/.test(text.replace(/[\ud800-\udbff][\udc00-\udfff]/g, "")))
      throw unsupported("urlencode of half a character");
    const encoded = encodeURIComponent(text).replace(
      /[!'()*]/g,
      (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
    );
    return inQuery ? encoded.replaceAll("%20", "+") : encoded.replaceAll("%2F", "/");
  };
  if (textOf(value) !== undefined || !isIterable(value)) return quoted(value, false);
  const pairs = value instanceof Dict ? [...value.entries()] : listOf(value, budget).map(pairOf);
  return pairs.map(([key, each]) => `${quoted(key, true)}=${quoted(each, true)}`).join("&");
}

function pairOf(value: Value): readonly [Value, Value] {
  if ((value instanceof Tuple || value instanceof List) && value.items.length === 2)
    return value.items as [Value, Value];
  throw typeError("pairs are needed");
}
