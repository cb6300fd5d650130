import type { Budget } from "./budget.js";
import { print, repr } from "./printing.js";
import { TemplateError, typeError, unsupported, valueError } from "./template-errors.js";
import { lengthOf, pointsOf } from "./text.js";
import { Dict, Tuple, typeOf, Undefined, type Value } from "./values.js";

const DIRECTIVE = /%(?:\(([^()]*)\))?([-+ #0]*)(\d+|\*)?(?:\.(\d+|\*)?)?[hlL]?([^])?/g;

/** Python's `template % values`. */
export function formatPercent(template: string, values: Value, budget: Budget): string {
  const list = values instanceof Tuple ? values.items : [values];
  let used = 0;
  let isNamed = false;
  const next = (): Value => {
    if (used >= list.length) throw typeError("not enough arguments for format string");
    return list[used++]!;
  };
  let result = "";
  let from = 0;
  for (const match of template.matchAll(DIRECTIVE)) {
    const [whole, name, flags = "", width, precision, letter] = match;
    result += template.slice(from, match.index);
    from = match.index + whole.length;
    budget.spend(1);
    if (letter === undefined) throw valueError("incomplete format");
    if (letter === "%") {
      result += "%";
      continue;
    }
    if (width === "*" || precision === "*") throw unsupported('"*" in a % format');
    let value: Value;
    if (name === undefined) value = next();
    else {
      if (!(values instanceof Dict)) throw typeError("format requires a mapping");
      isNamed = true;
      const found = values.get(name);
      if (found === undefined) throw new TemplateError("KeyError", `'${name}'`);
      value = found;
    }
    const hasPrecision = /\.\d*[hlL]?[^]$/.test(whole.slice(whole.indexOf(")") + 1)) && whole.includes(".");
    const digits = precision === undefined ? (hasPrecision ? 0 : undefined) : Number(precision);
    budget.characters(Number(width ?? 0) + (digits ?? 0));
    result += directive({ letter, flags, width: Number(width ?? 0), digits }, value, budget);
    budget.characters(result.length - from);
  }
  const isSpent = used >= list.length || isNamed || (!(values instanceof Tuple) && values instanceof Dict);
  if (!isSpent) throw typeError("not all arguments converted during string formatting");
  return result + template.slice(from);
}

interface Directive {
  letter: string;
  flags: string;
  width: number;
  digits: number | undefined;
}

function directive({ letter, flags, width, digits }: Directive, value: Value, budget: Budget): string {
  const isLeft = flags.includes("-");
  const fill = (text: string, isNumber: boolean): string => {
    const missing = width - lengthOf(text);
    if (missing <= 0) return text;
    if (isLeft) return text + " ".repeat(missing);
    if (!isNumber || !flags.includes("0")) return " ".repeat(missing) + text;
    const sign = /^[-+ ]?(?:0[xo])?/i.exec(text)![0];
    return sign + "0".repeat(missing) + text.slice(sign.length);
  };
  const signed = (isNegative: boolean, text: string): string =>
    (isNegative ? "-" : flags.includes("+") ? "+" : flags.includes(" ") ? " " : "") + text;
  switch (letter) {
    case "s":
    case "r":
    case "a": {
      if (letter === "a") throw unsupported('"%a"');
      const text = letter === "s" ? print(value, budget) : repr(value, budget);
      return fill(digits === undefined ? text : pointsOf(text).slice(0, digits).join(""), false);
    }
    case "d":
    case "i":
    case "u":
    case "x":
    case "X":
    case "o": {
      const isDecimal = "diu".includes(letter);
      const integer = toInteger(value, letter, isDecimal);
      const base = isDecimal ? 10 : letter === "o" ? 8 : 16;
      let text = (integer < 0n ? -integer : integer).toString(base).padStart(digits ?? 0, "0");
      if (flags.includes("#") && !isDecimal) text = `0${letter.toLowerCase()}${text}`;
      return fill(signed(integer < 0n, letter === "X" ? text.toUpperCase() : text), true);
    }
    case "f":
    case "F":
    case "e":
    case "E":
    case "g":
    case "G": {
      const float = toFloat(value);
      if (flags.includes("#")) throw unsupported('"#" in a % format of a float');
      const text = formatFloat(Math.abs(float), letter.toLowerCase() as "f" | "e" | "g", digits ?? 6);
      const isNegative = float < 0 || Object.is(float, -0);
      return fill(
        signed(isNegative, letter === letter.toUpperCase() ? text.toUpperCase() : text),
        Number.isFinite(float),
      );
    }
    case "c": {
      if (typeof value === "string" && lengthOf(value) === 1) return fill(value, false);
      if (typeof value === "bigint" && value >= 0n && value <= 0x10ffffn)
        return fill(String.fromCodePoint(Number(value)), false);
      throw typeError("%c requires an int or a unicode character");
    }
  }
  throw valueError(`unsupported format character '${letter}'`);
}

function toInteger(value: Value, letter: string, isDecimal: boolean): bigint {
  if (typeof value === "bigint") return value;
  if (typeof value === "boolean") return value ? 1n : 0n;
  if (typeof value === "number" && isDecimal) {
    if (!Number.isFinite(value)) throw valueError(`cannot convert float ${value} to integer`);
    return BigInt(Math.trunc(value));
  }
  if (value instanceof Undefined) throw value.error();
  throw typeError(`%${letter} format: a real number is required, not ${typeOf(value)}`);
}

function toFloat(value: Value): number {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "boolean") return value ? 1 : 0;
  if (value instanceof Undefined) throw value.error();
  throw typeError(`must be real number, not ${typeOf(value)}`);
}

/** A float that is not negative, in the styles of C. */
export function formatFloat(value: number, style: "f" | "e" | "g", digits: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return "inf";
  if (digits > 100 || (style === "f" && value >= 1e21)) throw unsupported("A float with that many digits");
  const exponential = (count: number): string => {
    const [mantissa, exponent] = exactly(value, count, true).split("e") as [string, string];
    const power = Number(exponent);
    return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  };
  if (style === "e") return exponential(digits);
  if (style === "f") return exactly(value, digits, false);
  const precision = digits === 0 ? 1 : digits;
  const text = exponential(precision - 1);
  const power = value === 0 ? 0 : Number(text.slice(text.indexOf("e") + 1));
  if (power < -4 || power >= precision) return text.replace(/(\.\d*?)0+e/, "$1e").replace(".e", "e");
  const plain = exactly(value, precision - 1 - power, false);
  return plain.includes(".") ? plain.replace(/\.?0+$/, "") : plain;
}

/** Digits of the exact binary value: JavaScript rounds halves up where C rounds them to even. */
function exactly(value: number, digits: number, isExponential: boolean): string {
  const up = isExponential ? value.toExponential(digits) : value.toFixed(digits);
  if (value === 0 || isExponential) return up;
  // A half is exact only with few binary places: then twice the scaled value is an odd integer.
  const doubled = value * 10 ** digits * 2;
  if (digits > 15 || !Number.isInteger(doubled) || doubled % 2 !== 1 || doubled / 2 / 10 ** digits !== value) return up;
  if (!isDyadicHalf(value, digits)) return up;
  const whole = (doubled - 1) / 2;
  return whole % 2 === 0 ? (whole / 10 ** digits).toFixed(digits) : up;
}

/** Whether `value × 10^digits` is a half without rounding. */
function isDyadicHalf(value: number, digits: number): boolean {
  let scaled = value;
  let places = 0;
  while (!Number.isInteger(scaled) && places < 1100) {
    scaled *= 2;
    places++;
  }
  // value = scaled / 2^places; times 10^digits it is a half where 2^places = 2^(digits + 1).
  return places === digits + 1;
}
