import { bind } from "./call-arguments.js";
import type { Budget } from "./budget.js";
import { iterate, List, Tuple, typeOf, Undefined, type CallArguments, type Value } from "./values.js";
import { indexOf } from "./operations.js";
import { SPACES } from "./lexer.js";
import { typeError, unsupported, valueError } from "./template-errors.js";
import { isPrintable, lengthOf, part, pointIndex, pointsOf } from "./text.js";

export type StringMethod = (text: string, args: CallArguments, budget: Budget) => Value;

const SPACE_SET = new RegExp(`[${SPACES}]`);
// eslint-disable-next-line no-control-regex
const LINE_END = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g;
const CASED = /[\p{Lu}\p{Ll}\p{Lt}]/u;

/** Methods of Python's `str`, by name. */
export const STRING_METHODS: ReadonlyMap<string, StringMethod> = new Map<string, StringMethod>([
  ["capitalize", plain("capitalize", capitalize)],
  ["casefold", plain("casefold", (text) => casefold(text))],
  ["center", padding("center")],
  ["ljust", padding("ljust")],
  ["rjust", padding("rjust")],
  ["count", (text, args, budget) => BigInt(count(text, args, budget))],
  ["startswith", (text, args) => affix("startswith", text, args)],
  ["endswith", (text, args) => affix("endswith", text, args)],
  ["expandtabs", expandTabs],
  ["find", (text, args, budget) => BigInt(find("find", text, args, budget))],
  ["rfind", (text, args, budget) => BigInt(find("rfind", text, args, budget))],
  ["index", (text, args, budget) => found(find("index", text, args, budget))],
  ["rindex", (text, args, budget) => found(find("rindex", text, args, budget))],
  ["isalnum", plain("isalnum", (text) => /^[\p{L}\p{N}]+$/u.test(text))],
  ["isalpha", plain("isalpha", (text) => /^\p{L}+$/u.test(text))],
  // eslint-disable-next-line no-control-regex
  ["isascii", plain("isascii", (text) => /^[\x00-\x7f]*$/.test(text))],
  ["isdecimal", plain("isdecimal", (text) => /^\p{Nd}+$/u.test(text))],
  ["isdigit", plain("isdigit", (text) => /^[\p{Nd}²³¹⁰⁴-⁹₀-₉]+$/u.test(text))],
  ["isidentifier", plain("isidentifier", (text) => /^[\p{ID_Start}_]\p{ID_Continue}*$/u.test(text))],
  ["islower", plain("islower", isLower)],
  ["isupper", plain("isupper", isUpper)],
  ["isnumeric", plain("isnumeric", (text) => /^\p{N}+$/u.test(text))],
  ["isprintable", plain("isprintable", isPrintable)],
  ["isspace", plain("isspace", (text) => new RegExp(`^[${SPACES}]+$`).test(text))],
  ["istitle", plain("istitle", isTitle)],
  ["join", joinMethod],
  ["lower", plain("lower", lower)],
  ["upper", plain("upper", (text) => text.toUpperCase())],
  ["swapcase", plain("swapcase", (text) => pointsOf(text).map(swapped).join(""))],
  ["title", plain("title", titled)],
  ["strip", stripping("strip")],
  ["lstrip", stripping("lstrip")],
  ["rstrip", stripping("rstrip")],
  ["partition", partition(false)],
  ["rpartition", partition(true)],
  ["removeprefix", removing("removeprefix")],
  ["removesuffix", removing("removesuffix")],
  ["replace", replaceMethod],
  ["split", splitting("split")],
  ["rsplit", splitting("rsplit")],
  ["splitlines", splitLines],
  ["zfill", zfill],
]);

function plain(name: string, action: (text: string) => Value): StringMethod {
  return (text, args, budget) => {
    bind(name, args, []);
    // Letter by letter, some of them by tables of Unicode.
    budget.characters(text.length * 12);
    return action(text);
  };
}

function textArgument(name: string, value: Value | undefined): string {
  if (typeof value === "string") return value;
  if (value instanceof Undefined) throw value.error();
  throw typeError(`${name}() argument must be str, not ${typeOf(value ?? null)}`);
}

/** Lower case; a sigma at a word's end becomes the final one in Python as in JavaScript. */
export function lower(text: string): string {
  return text.toLowerCase();
}

export function capitalize(text: string): string {
  const first = String.fromCodePoint(text.codePointAt(0) ?? 32);
  return text === "" ? "" : titleCase(first) + lower(text.slice(first.length));
}

/** Letters with a title case of their own, such as the digraphs of Croatian. */
const TITLE_CASES: ReadonlyMap<string, string> = new Map([
  ["ß", "Ss"],
  ..."ǄǅǆǇǈǉǊǋǌǱǲǳ".split("").map((letter, index) => [letter, "ǅǈǋǲ"[Math.floor(index / 3)]!] as const),
]);

function titleCase(point: string): string {
  const upper = TITLE_CASES.get(point) ?? point.toUpperCase();
  return upper.length > 1 && lengthOf(upper) > 1 && !TITLE_CASES.has(point)
    ? upper[0]! + upper.slice(1).toLowerCase()
    : upper;
}

function casefold(text: string): string {
  // eslint-disable-next-line no-control-regex
  if (/[^\x00-\x7f]/.test(text.replace(/[ßẞ\u00c0-\u024f\u0391-\u03a9\u03b1-\u03c9\u0410-\u044f]/g, ""))) {
    if (/[\u1e00-\u1fff\u0130\u0149\u01f0\u0390\u03b0\u0587\ufb00-\ufb17\u13a0-\u13fd\uab70-\uabbf]/.test(text)) {
      throw unsupported('"casefold" of these letters');
    }
  }
  return text.replace(/ẞ/g, "ss").toLowerCase().replace(/ß/g, "ss").replace(/ς/g, "σ");
}

function isUpper(text: string): boolean {
  return CASED.test(text) && !/[\p{Ll}\p{Lt}]/u.test(text);
}

function isLower(text: string): boolean {
  return CASED.test(text) && !/[\p{Lu}\p{Lt}]/u.test(text);
}

function isTitle(text: string): boolean {
  let seen = false;
  let afterCased = false;
  for (const point of text) {
    const isBig = /[\p{Lu}\p{Lt}]/u.test(point);
    const isCased = isBig || /\p{Ll}/u.test(point);
    if (isCased && isBig === afterCased) return false;
    seen ||= isCased;
    afterCased = isCased;
  }
  return seen;
}

function swapped(point: string): string {
  return /\p{Lu}/u.test(point) ? point.toLowerCase() : point.toUpperCase();
}

/** `str.title`: a letter begins a word where none stands before it. */
function titled(text: string): string {
  let afterCased = false;
  return pointsOf(text)
    .map((point) => {
      const result = afterCased ? point.toLowerCase() : titleCase(point);
      afterCased = CASED.test(point);
      return result;
    })
    .join("");
}

function padding(name: "center" | "ljust" | "rjust"): StringMethod {
  return (text, args, budget) => {
    const [width, fill = " "] = bind(name, args, ["width", "fillchar"], 1);
    const character = textArgument(name, fill);
    if (lengthOf(character) !== 1) throw typeError("The fill character must be exactly one character long");
    const total = indexOf(width!);
    budget.characters(Math.max(total, text.length));
    const missing = Math.max(0, total - lengthOf(text));
    const left = name === "ljust" ? 0 : name === "rjust" ? missing : centered(missing, total);
    return character.repeat(left) + text + character.repeat(missing - left);
  };
}

/** Where an odd number is missing, Python puts the greater part left or right by the width. */
export function centered(missing: number, width: number): number {
  return Math.floor(missing / 2) + (missing & width & 1);
}

/** The part of a text between optional bounds, and where it begins. `undefined` where the start lies beyond the end. */
function bounded(
  text: string,
  start: Value | undefined,
  end: Value | undefined,
): { text: string; from: number } | undefined {
  if ((start ?? null) === null && (end ?? null) === null) return { text, from: 0 };
  const length = lengthOf(text);
  const place = (value: Value | undefined, otherwise: number): number => {
    if (value === undefined || value === null) return otherwise;
    const index = indexOf(value, "slice indices must be integers or None or have an __index__ method");
    return index < 0 ? Math.max(0, index + length) : index;
  };
  const from = place(start, 0);
  const to = Math.min(place(end, length), length);
  return from > length || from > to ? undefined : { text: part(text, from, to), from };
}

function count(text: string, args: CallArguments, budget: Budget): number {
  const [wanted, start, end] = bind("count", args, ["sub", "start", "end"], 1);
  const sought = textArgument("count", wanted);
  const within = bounded(text, start, end);
  budget.search(text, sought);
  if (!within) return 0;
  return sought === "" ? lengthOf(within.text) + 1 : occurrences(within.text, sought);
}

export function occurrences(text: string, sought: string): number {
  let total = 0;
  for (let at = text.indexOf(sought); at >= 0; at = text.indexOf(sought, at + sought.length)) total++;
  return total;
}

function find(name: string, text: string, args: CallArguments, budget: Budget): number {
  const [wanted, start, end] = bind(name, args, ["sub", "start", "end"], 1);
  const sought = textArgument(name, wanted);
  const within = bounded(text, start, end);
  budget.search(text, sought);
  if (!within) return -1;
  const unit = name.startsWith("r") ? within.text.lastIndexOf(sought) : within.text.indexOf(sought);
  return unit < 0 ? -1 : pointIndex(within.text, unit) + within.from;
}

function found(index: number): bigint {
  if (index < 0) throw valueError("substring not found");
  return BigInt(index);
}

function affix(name: "startswith" | "endswith", text: string, args: CallArguments): boolean {
  const [wanted, start, end] = bind(name, args, ["prefix", "start", "end"], 1);
  const options = wanted instanceof Tuple ? wanted.items : [wanted];
  const within = bounded(text, start, end);
  return options.some((option) => {
    if (typeof option !== "string") {
      if (option instanceof Undefined) throw option.error();
      throw typeError(`${name} first arg must be str or a tuple of str, not ${typeOf(option ?? null)}`);
    }
    if (!within) return false;
    return name === "startswith" ? within.text.startsWith(option) : within.text.endsWith(option);
  });
}

function expandTabs(text: string, args: CallArguments, budget: Budget): string {
  const [size = 8n] = bind("expandtabs", args, ["tabsize"]);
  const width = indexOf(size);
  budget.characters(text.length + occurrences(text, "\t") * Math.max(0, width));
  let column = 0;
  return pointsOf(text)
    .map((point) => {
      if (point === "\t") {
        const spaces = width > 0 ? width - (column % width) : 0;
        column += spaces;
        return " ".repeat(spaces);
      }
      column = point === "\n" || point === "\r" ? 0 : column + 1;
      return point;
    })
    .join("");
}

function joinMethod(separator: string, args: CallArguments, budget: Budget): string {
  const [items] = bind("join", args, ["iterable"], 1);
  const parts: string[] = [];
  let length = 0;
  const iterator = iterate(items!, budget);
  for (let next = iterator.next(); !next.done; next = iterator.next()) {
    if (typeof next.value !== "string") {
      throw typeError(`sequence item ${parts.length}: expected str instance, ${typeOf(next.value)} found`);
    }
    parts.push(next.value);
    length += next.value.length + separator.length;
  }
  budget.characters(length);
  return parts.join(separator);
}

function stripping(name: "strip" | "lstrip" | "rstrip"): StringMethod {
  return (text, args, budget) => {
    const [characters = null] = bind(name, args, ["chars"]);
    budget.characters(text.length);
    return strip(text, characters === null ? undefined : textArgument(name, characters), name);
  };
}

/** Text without white space, or without these characters, at its ends. */
export function strip(text: string, characters?: string, name: "strip" | "lstrip" | "rstrip" = "strip"): string {
  const set = characters === undefined ? undefined : new Set(characters);
  const points = set && /[\ud800-\udfff]/.test(text) ? Array.from(text) : text;
  const isOff = (point: string): boolean => (set ? set.has(point) : SPACE_SET.test(point));
  let from = 0;
  let to = points.length;
  if (name !== "rstrip") while (from < to && isOff(points[from]!)) from++;
  if (name !== "lstrip") while (to > from && isOff(points[to - 1]!)) to--;
  return typeof points === "string" ? points.slice(from, to) : points.slice(from, to).join("");
}

function partition(fromEnd: boolean): StringMethod {
  return (text, args, budget) => {
    const name = fromEnd ? "rpartition" : "partition";
    const separator = textArgument(name, bind(name, args, ["sep"], 1)[0]);
    if (separator === "") throw valueError("empty separator");
    budget.search(text, separator);
    const at = fromEnd ? text.lastIndexOf(separator) : text.indexOf(separator);
    if (at < 0) return new Tuple(fromEnd ? ["", "", text] : [text, "", ""]);
    return new Tuple([text.slice(0, at), separator, text.slice(at + separator.length)]);
  };
}

function removing(name: "removeprefix" | "removesuffix"): StringMethod {
  return (text, args, budget) => {
    const affix = textArgument(name, bind(name, args, ["prefix"], 1)[0]);
    budget.characters(text.length);
    if (affix === "") return text;
    if (name === "removeprefix") return text.startsWith(affix) ? text.slice(affix.length) : text;
    return text.endsWith(affix) ? text.slice(0, -affix.length) : text;
  };
}

function replaceMethod(text: string, args: CallArguments, budget: Budget): string {
  const [old, replacement, times = -1n] = bind("replace", args, ["old", "new", "count"], 2);
  return replace(text, textArgument("replace", old), textArgument("replace", replacement), indexOf(times), budget);
}

/** `str.replace`; below 0 every occurrence is replaced. */
export function replace(text: string, old: string, replacement: string, times: number, budget: Budget): string {
  budget.search(text, old);
  if (old === "") {
    const points = pointsOf(text);
    const places = times < 0 ? points.length + 1 : Math.min(times, points.length + 1);
    budget.characters(text.length + places * replacement.length);
    const before = points.map((point, index) => (index < places ? replacement : "") + point).join("");
    return before + (places > points.length ? replacement : "");
  }
  const pieces = pieced(text, old, times);
  budget.characters(text.length + pieces.length * replacement.length);
  return pieces.join(replacement);
}

function pieced(text: string, separator: string, times: number): string[] {
  if (times < 0) return text.split(separator);
  const pieces: string[] = [];
  let from = 0;
  for (let at = text.indexOf(separator); at >= 0 && pieces.length < times; at = text.indexOf(separator, from)) {
    pieces.push(text.slice(from, at));
    from = at + separator.length;
  }
  return [...pieces, text.slice(from)];
}

function splitting(name: "split" | "rsplit"): StringMethod {
  return (text, args, budget) => {
    const [separator = null, limit = -1n] = bind(name, args, ["sep", "maxsplit"]);
    const times = indexOf(limit);
    const fromEnd = name === "rsplit";
    let pieces: string[];
    if (separator === null) {
      budget.characters(text.length);
      pieces = splitAtSpace(text, times, fromEnd);
    } else {
      const by = textArgument(name, separator);
      if (by === "") throw valueError("empty separator");
      budget.search(text, by);
      pieces = fromEnd && times >= 0 ? piecedFromEnd(text, by, times) : pieced(text, by, times);
    }
    budget.items(pieces.length * 4);
    return new List(pieces);
  };
}

function piecedFromEnd(text: string, separator: string, times: number): string[] {
  const pieces: string[] = [];
  let to = text.length;
  while (pieces.length < times && to >= separator.length) {
    const at = text.lastIndexOf(separator, to - separator.length);
    if (at < 0) break;
    pieces.unshift(text.slice(at + separator.length, to));
    to = at;
  }
  return [text.slice(0, to), ...pieces];
}

/** Words with white space between them; where the limit is reached, the rest stays as it is up to the text's end. */
function splitAtSpace(text: string, times: number, fromEnd: boolean): string[] {
  const words = [...text.matchAll(new RegExp(`[^${SPACES}]+`, "g"))];
  if (times < 0 || words.length <= times) return words.map(([word]) => word);
  if (words.length === 0) return [];
  if (fromEnd) {
    const last = words[words.length - times - 1]!;
    const rest = text.slice(0, last.index + last[0].length);
    return [rest, ...words.slice(words.length - times).map(([word]) => word)];
  }
  return [...words.slice(0, times).map(([word]) => word), text.slice(words[times]!.index)];
}

function splitLines(text: string, args: CallArguments, budget: Budget): List {
  const [keepEnds = false] = bind("splitlines", args, ["keepends"]);
  budget.characters(text.length);
  const lines: string[] = [];
  let from = 0;
  for (const match of text.matchAll(LINE_END)) {
    lines.push(text.slice(from, match.index) + (keepEnds === true || keepEnds === 1n ? match[0] : ""));
    from = match.index + match[0].length;
  }
  if (from < text.length) lines.push(text.slice(from));
  budget.items(lines.length * 4);
  return new List(lines);
}

function zfill(text: string, args: CallArguments, budget: Budget): string {
  const width = indexOf(bind("zfill", args, ["width"], 1)[0]!);
  budget.characters(Math.max(width, text.length));
  const sign = /^[-+]?/.exec(text)![0];
  return sign + "0".repeat(Math.max(0, width - lengthOf(text))) + text.slice(sign.length);
}
