import stringWidth from "string-width";

/** A piece of text that stays in one line: `text.slice(from, to)`. */
export interface Atom {
  from: number;
  to: number;
  /** Columns it takes; wide (East Asian) characters and emoji take two. */
  width: number;
}

/** Writing that puts no spaces between words. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Mymr}]/u;
/** Must not begin a line: closing punctuation, marks, signs that lengthen or repeat the character before. */
const NOT_FIRST = /^[\p{Pe}\p{Pf}\p{Po}\p{M}\p{Lm}]/u;
/** Must not end a line. */
const NOT_LAST = /[\p{Ps}\p{Pi}]$/u;

// Which language is named makes no difference to these scripts; that one is named makes the same cuts on every machine.
const words = new Intl.Segmenter("en", { granularity: "word" });
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/**
 * Finds the places where a line may end: at spaces, and between words of scripts that do without spaces. A piece longer than a line
 * is cut between characters as readers see them, never inside one.
 *
 * @param text - in one line, single spaces
 */
export function toAtoms(text: string, maxLineLength: number): Atom[] {
  const atoms: Atom[] = [];
  for (const { 0: token, index } of text.matchAll(/[^ ]+/g)) {
    const pieces = UNSPACED.test(token) ? splitUnspaced(token) : [token];
    let from = index;
    for (const piece of pieces.flatMap((whole) => splitLong(whole, maxLineLength))) {
      atoms.push({ from, to: from + piece.length, width: stringWidth(piece) });
      from += piece.length;
    }
  }
  return atoms;
}

function splitUnspaced(token: string): string[] {
  const pieces: string[] = [];
  for (const { segment } of words.segment(token)) {
    const last = pieces.at(-1);
    const belongsToLast = last !== undefined && (NOT_FIRST.test(segment) || NOT_LAST.test(last));
    if (belongsToLast) pieces[pieces.length - 1] = last + segment;
    else pieces.push(segment);
  }
  return pieces;
}

function splitLong(piece: string, maxLineLength: number): string[] {
  if (stringWidth(piece) <= maxLineLength) return [piece];
  const parts: string[] = [];
  let part = "";
  let width = 0;
  for (const { segment } of graphemes.segment(piece)) {
    const more = stringWidth(segment);
    if (part !== "" && width + more > maxLineLength) {
      parts.push(part);
      [part, width] = ["", 0];
    }
    part += segment;
    width += more;
  }
  return [...parts, part];
}

/** Columns of a line made of all atoms from `first` up to, not including, `end`. */
export function lineWidth(atoms: readonly Atom[], first: number, end: number): number {
  let width = 0;
  for (let index = first; index < end; index++) width += joinedWidth(atoms, first, index);
  return width;
}

/** Columns that an atom adds to a line that begins with atom `first`. */
export function joinedWidth(atoms: readonly Atom[], first: number, index: number): number {
  const space = index > first && atoms[index]!.from > atoms[index - 1]!.to ? 1 : 0;
  return atoms[index]!.width + space;
}
