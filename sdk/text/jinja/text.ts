/** Text as Python sees it: by code points, where JavaScript counts UTF-16 units. */

const SURROGATE = /[\ud800-\udfff]/;

/** Whether units are not code points in this text. */
function isWide(text: string): boolean {
  return SURROGATE.test(text);
}

export function lengthOf(text: string): number {
  if (!isWide(text)) return text.length;
  return Array.from(text).length;
}

export function pointsOf(text: string): string[] {
  return isWide(text) ? Array.from(text) : text.split("");
}

/** One character; counts from the end below 0. `undefined` beyond the text. */
export function characterAt(text: string, index: number): string | undefined {
  return isWide(text) ? Array.from(text).at(index) : text.at(index);
}

/** The part between two places, counted in code points. */
export function part(text: string, from: number, to: number): string {
  return isWide(text) ? Array.from(text).slice(from, to).join("") : text.slice(from, to);
}

/** From an index in UTF-16 units to one in code points. */
export function pointIndex(text: string, unit: number): number {
  return unit <= 0 ? unit : lengthOf(text.slice(0, unit));
}

/** Order by code points, below, at or above 0. */
export function compareText(left: string, right: string): number {
  if (left === right) return 0;
  const length = Math.min(left.length, right.length);
  let at = 0;
  while (at < length && left.charCodeAt(at) === right.charCodeAt(at)) at++;
  if (at === length) return left.length - right.length;
  const [a, b] = [left.charCodeAt(at), right.charCodeAt(at)];
  const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;
  return isSurrogate(a) === isSurrogate(b) ? a - b : isSurrogate(a) ? 1 : -1;
}

const NOT_PRINTABLE = /[\p{C}\p{Z}]/u;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\\", "\\\\"],
]);

export function isPrintable(text: string): boolean {
  return Array.from(text).every((point) => point === " " || !NOT_PRINTABLE.test(point));
}

/** Python's `repr` of a text. */
export function reprText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  if (/^[ !#-&(-[\]-~]*$/.test(text)) return quote + text + quote;
  let result = "";
  for (const point of text) {
    const code = point.codePointAt(0)!;
    if (point === quote) result += `\\${point}`;
    else if (ESCAPES.has(point)) result += ESCAPES.get(point)!;
    else if (point === " " || !NOT_PRINTABLE.test(point)) result += point;
    else if (code < 0x100) result += `\\x${code.toString(16).padStart(2, "0")}`;
    else if (code < 0x10000) result += `\\u${code.toString(16).padStart(4, "0")}`;
    else result += `\\U${code.toString(16).padStart(8, "0")}`;
  }
  return quote + result + quote;
}

/** Python's `repr` of a float. */
export function reprFloat(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const [mantissa, exponent] = value.toExponential().split("e") as [string, string];
  const power = Number(exponent);
  if (power >= -4 && power < 16) {
    const plain =
      power < 0 ? value.toFixed(Math.max(0, mantissa.replace(/[-.]/g, "").length - 1 - power)) : String(value);
    return plain.includes(".") ? plain : `${plain}.0`;
  }
  return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}
