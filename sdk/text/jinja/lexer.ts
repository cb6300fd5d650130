import { TemplateError } from "./template-errors.js";

export type TokenType =
  "text" | "begin" | "end" | "print-begin" | "print-end" | "name" | "string" | "integer" | "float" | "operator" | "eof";

export interface Token {
  type: TokenType;
  /** Text, name, decoded string, digits or operator. */
  value: string;
  line: number;
}

/** White space as Python's `\s` and `str.strip` see it; JavaScript's class differs in six characters. */
export const SPACES = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";

const sticky = (source: string, flags = ""): RegExp => new RegExp(source, `y${flags}`);
const SPACE = sticky(`[${SPACES}]+`);
const NAME = sticky("[\\p{L}\\p{N}\\p{M}_]+", "u");
const IDENTIFIER = /^[\p{ID_Start}_][\p{ID_Continue}]*$/u;
const FLOAT = sticky("(?:\\d+_)*\\d+(?:(?:\\.(?:\\d+_)*\\d+)?e[+-]?(?:\\d+_)*\\d+|\\.(?:\\d+_)*\\d+)", "i");
const INTEGER = sticky("0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\\da-f])+|[1-9](?:_?\\d)*|0(?:_?0)*", "i");
const STRING = sticky("'(?:[^'\\\\]|\\\\[^])*'|\"(?:[^\"\\\\]|\\\\[^])*\"");
const OPERATOR = sticky("\\*\\*|//|==|!=|>=|<=|[+\\-/*%~[\\](){}><=.:|,;]");
const RAW_BEGIN = sticky(`\\{%([-+]?)[${SPACES}]*raw[${SPACES}]*(?:-%\\}[${SPACES}]*|%\\})`);
const RAW_END = new RegExp(`\\{%([-+]?)[${SPACES}]*endraw[${SPACES}]*(?:\\+%\\}|-%\\}[${SPACES}]*|%\\}\\n?)`, "g");
const BLOCK_END = sticky(`\\+%\\}|-%\\}[${SPACES}]*|%\\}\\n?`);
const PRINT_END = sticky(`-\\}\\}[${SPACES}]*|\\}\\}`);
const COMMENT_END = new RegExp(`\\+#\\}|-#\\}[${SPACES}]*|#\\}\\n?`, "g");
const SPACES_AT_END = new RegExp(`[${SPACES}]+$`);
const ONLY_SPACES = new RegExp(`^[${SPACES}]+$`);
const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/**
 * Tokens of a template, by the rules of Jinja2's lexer with `trim_blocks` and `lstrip_blocks`.
 * @throws TemplateError where the text is no template
 */
export function tokenize(template: string): Token[] {
  return new Lexer(template).tokens();
}

class Lexer {
  readonly #source: string;
  readonly #tokens: Token[] = [];
  #at = 0;
  #line = 1;
  #countedTo = 0;
  /** Whether the last match ended with a line end: then white space before a block is the line's beginning. */
  #lineStarts = true;

  constructor(template: string) {
    this.#source = template.replace(/\r\n|\r/g, "\n").replace(/\n$/, "");
  }

  tokens(): Token[] {
    while (this.#at < this.#source.length) this.#root();
    this.#push("eof", "");
    return this.#tokens;
  }

  /** Text up to the next tag, and what the tag begins. */
  #root(): void {
    const begin = this.#nextTag();
    const text = this.#source.slice(this.#at, begin);
    if (begin === this.#source.length) {
      this.#push("text", text);
      this.#at = begin;
      return;
    }
    const opener = this.#source.slice(begin, begin + 2);
    const raw = opener === "{%" ? match(RAW_BEGIN, this.#source, begin) : undefined;
    const sign = raw ? raw[1]! : /[-+]/.test(this.#source[begin + 2] ?? "") ? this.#source[begin + 2]! : "";
    const stripped = this.#stripped(text, sign, opener !== "{{");
    if (stripped !== "") this.#push("text", stripped);
    this.#move(begin + (raw ? raw[0].length : 2 + sign.length));
    if (raw) this.#raw();
    else if (opener === "{#") this.#comment();
    else this.#tag(opener === "{%" ? "begin" : "print-begin");
  }

  #nextTag(): number {
    for (let at = this.#source.indexOf("{", this.#at); at >= 0; at = this.#source.indexOf("{", at + 1)) {
      const next = this.#source[at + 1];
      if (next === "%" || next === "{" || next === "#") return at;
    }
    return this.#source.length;
  }

  /** Text before a tag without the white space that the tag takes away. */
  #stripped(text: string, sign: string, isBlock: boolean): string {
    if (sign === "-") return text.replace(SPACES_AT_END, "");
    if (sign === "+" || !isBlock) return text;
    const lineAt = text.lastIndexOf("\n") + 1;
    if (lineAt === 0 && !this.#lineStarts) return text;
    return ONLY_SPACES.test(text.slice(lineAt)) ? text.slice(0, lineAt) : text;
  }

  #raw(): void {
    RAW_END.lastIndex = this.#at;
    const end = RAW_END.exec(this.#source);
    if (!end) throw this.#error("Missing end of raw directive");
    const text = this.#stripped(this.#source.slice(this.#at, end.index), end[1]!, true);
    if (text !== "") this.#push("text", text);
    this.#move(end.index + end[0].length);
  }

  #comment(): void {
    COMMENT_END.lastIndex = this.#at;
    const end = COMMENT_END.exec(this.#source);
    if (!end) throw this.#error("Missing end of comment tag");
    this.#move(end.index + end[0].length);
  }

  /** Tokens of a tag. Inside brackets nothing ends it. */
  #tag(kind: "begin" | "print-begin"): void {
    this.#push(kind, "");
    const ending = kind === "begin" ? BLOCK_END : PRINT_END;
    const open: string[] = [];
    for (;;) {
      const end = open.length === 0 ? match(ending, this.#source, this.#at) : undefined;
      if (end) {
        this.#push(kind === "begin" ? "end" : "print-end", "");
        this.#move(this.#at + end[0].length);
        return;
      }
      if (this.#at >= this.#source.length) {
        throw this.#error(
          open.length > 0 ? `unexpected end of template, expected '${open.at(-1)}'` : "unexpected end of template",
        );
      }
      this.#inside(open);
    }
  }

  #inside(open: string[]): void {
    const space = match(SPACE, this.#source, this.#at);
    if (space) {
      this.#move(this.#at + space[0].length);
      return;
    }
    const float = this.#source[this.#at - 1] === "." ? undefined : match(FLOAT, this.#source, this.#at);
    const number = float ?? match(INTEGER, this.#source, this.#at);
    const found = number ?? match(NAME, this.#source, this.#at) ?? match(STRING, this.#source, this.#at);
    if (found) {
      const first = found[0][0]!;
      if (number) this.#push(float ? "float" : "integer", found[0].replaceAll("_", ""));
      else if (first === "'" || first === '"') this.#push("string", this.#unescaped(found[0].slice(1, -1)));
      else if (IDENTIFIER.test(found[0])) this.#push("name", found[0]);
      else throw this.#error(`Invalid character in identifier '${found[0]}'`);
      this.#move(this.#at + found[0].length);
      return;
    }
    const operator = match(OPERATOR, this.#source, this.#at)?.[0];
    if (operator === undefined) throw this.#error(`unexpected char '${this.#source[this.#at]}' at ${this.#at}`);
    if (operator in CLOSING) open.push(CLOSING[operator]!);
    else if (operator === ")" || operator === "]" || operator === "}") {
      const expected = open.pop();
      if (expected !== operator)
        throw this.#error(`unexpected '${operator}'${expected ? `, expected '${expected}'` : ""}`);
    }
    this.#push("operator", operator);
    this.#move(this.#at + operator.length);
  }

  /** Python's escapes; a backslash before another character stays. */
  #unescaped(text: string): string {
    if (!text.includes("\\")) return text;
    return text.replace(
      /\\(?:([0-7]{1,3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([^]))/g,
      (whole, octal?: string, x?: string, u?: string, long?: string, letter?: string) => {
        if (octal !== undefined) return String.fromCharCode(parseInt(octal, 8));
        const hex = x ?? u ?? long;
        if (hex !== undefined) {
          const code = parseInt(hex, 16);
          if (code > 0x10ffff) throw this.#error("illegal Unicode character in a string");
          return String.fromCodePoint(code);
        }
        if (letter === "x" || letter === "u" || letter === "U")
          throw this.#error(`truncated \\${letter} escape in a string`);
        if (letter === "N") throw this.#error("\\N{...} in a string is not supported in chat templates");
        return ESCAPES.get(letter!) ?? whole;
      },
    );
  }

  #push(type: TokenType, value: string): void {
    for (; this.#countedTo < this.#at; this.#countedTo++) if (this.#source[this.#countedTo] === "\n") this.#line++;
    this.#tokens.push({ type, value, line: this.#line });
  }

  #move(to: number): void {
    this.#at = to;
    this.#lineStarts = this.#source[to - 1] === "\n";
  }

  #error(message: string): TemplateError {
    for (; this.#countedTo < this.#at; this.#countedTo++) if (this.#source[this.#countedTo] === "\n") this.#line++;
    return new TemplateError("TemplateSyntaxError", `${message} (line ${this.#line})`);
  }
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\n", ""],
  ["\\", "\\"],
  ["'", "'"],
  ['"', '"'],
  ["a", "\x07"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
]);

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}
