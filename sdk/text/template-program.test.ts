import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { fromJavaScript } from "./jinja/from-javascript.js";
import { templateGlobals } from "./jinja/globals.js";
import { TemplateLimit } from "./jinja/template-errors.js";
import type { Value } from "./jinja/values.js";
import { TemplateProgram } from "./template-program.js";

interface Golden {
  text?: string;
  error?: string;
}

/** What Jinja2 prints, or the name of what it raises; see test/fixtures/templates/make.py. */
function goldens(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../test/fixtures/templates/${name}`, import.meta.url), "utf8"));
}

const small = goldens("cases.json") as {
  clock: string;
  variables: Record<string, unknown>;
  cases: (Golden & { group: string; template: string })[];
};
const chats = goldens("chats.json") as {
  clock: string;
  conversations: Record<string, Record<string, unknown>>;
  chats: { origin: string; template: string; prompts: Record<string, Golden> }[];
};

function render(template: string, variables: Record<string, unknown> = {}): string {
  const values = templateGlobals(() => new Date(small.clock));
  for (const [name, value] of Object.entries(variables)) values.set(name, fromJavaScript(value, name) as Value);
  return new TemplateProgram(template).run(values);
}

/** The text, or that something was thrown on purpose: not by a fault of the interpreter. */
function outcome(template: string, variables: Record<string, unknown>): Golden {
  try {
    return { text: render(template, variables) };
  } catch (error) {
    expect((error as Error).name).toMatch(/^Template/);
    return { error: (error as Error).message };
  }
}

describe("small templates", () => {
  it.each([...new Set(small.cases.map((each) => each.group))])("print what Jinja2 prints: %s", (group) => {
    const wrong: unknown[] = [];
    for (const { template, text, error } of small.cases.filter((each) => each.group === group)) {
      const got = outcome(template, small.variables);
      const isRight = error === undefined ? got.text === text : got.error !== undefined;
      if (!isRight) wrong.push({ template, jinja2: text ?? error, ours: got.text ?? got.error });
    }
    expect(wrong).toEqual([]);
  });
});

describe("a matrix of values, operators, filters, tests and methods", () => {
  /** By test/fixtures/templates/make_matrix.py. */
  const { variables, cases } = goldens("matrix.json") as {
    variables: Record<string, unknown>;
    cases: { template: string; text?: string; raises?: string }[];
  };
  /** Refused here by name: order and equality of a dict's views, complex numbers, bytes; and a list as the argument of `%`. */
  const REFUSED = /(items|keys)\(\) (==|<) |\*\* 0\.5|\.encode |'x' % \[1\]/;
  /** Names of places in memory differ from run to run. */
  const isPlace = (text: string): boolean => / at 0x|<built-in|<class/.test(text);

  it("prints what Jinja2 prints, or refuses: never another text", () => {
    const wrong: unknown[] = [];
    for (const { template, text, raises } of cases) {
      const got = outcome(template, variables);
      const mayRefuse = text === undefined || REFUSED.test(template) || isPlace(text);
      const isRight = mayRefuse && got.error !== undefined ? true : got.text !== undefined && got.text === text;
      if (!isRight && !(text !== undefined && isPlace(text)))
        wrong.push({ template, jinja2: text ?? raises, ours: got });
    }
    expect(wrong).toEqual([]);
    expect(cases.length).toBeGreaterThan(2000);
  });
});

describe("what Jinja2 does and we do not", () => {
  it.each([
    "{{ messages.count }}",
    "{{ ''.upper }}",
    "{{ [1] | map('abs') }}",
    "{{ 'x'.encode() }}",
    "{{ 1 | random }}",
    "{{ (1).real }}",
    "{% include 'x' %}",
    "{% block b %}{% endblock %}",
    "{% autoescape true %}{% endautoescape %}",
  ])("is refused by name: %s", (template) => {
    expect(outcome(template, small.variables).error).toMatch(/^Unsupported: .* is not supported in chat templates/);
  });
});

describe("chat templates at hand", () => {
  it.each(chats.chats)("print what Jinja2 prints: $origin", ({ template, prompts }) => {
    for (const [name, { text, error }] of Object.entries(prompts)) {
      const variables = {
        tools: null,
        documents: null,
        add_generation_prompt: true,
        bos_token: "<s>",
        eos_token: "</s>",
        unk_token: "<unk>",
        pad_token: "<pad>",
        ...chats.conversations[name],
      };
      const got = outcome(template, variables);
      if (error === undefined) expect({ name, text: got.text ?? got.error }).toEqual({ name, text });
      else expect({ name, raises: got.error !== undefined }).toEqual({ name, raises: true });
    }
  });
});

describe("templates that never end, or would fill the memory", () => {
  it.each([
    "{% for a in range(999) %}{% for b in range(999) %}{% for c in range(999) %}{% endfor %}{% endfor %}{% endfor %}",
    "{% set ns = namespace(s='aaaaaaaaaaaaaaaa') %}{% for i in range(40) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s | length }}",
    "{% set ns = namespace(s='aaaaaaaaaaaaaaaa') %}{% for i in range(40) %}{% set ns.s = ns.s.replace('a', 'aaaaaaaa') %}{% endfor %}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l == ns.l[0] or ns.l | tojson }}",
    "{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }}",
    "{% macro a() %}{{ b() }}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}",
    "{% for x in [[1]] recursive %}{{ loop([x]) }}{% endfor %}",
    "{{ 'a' * 10 ** 12 }}",
    "{{ [1] * 10 ** 12 }}",
    "{{ 'a'.ljust(10 ** 12) }}",
    "{{ '%1000000000000d' % 1 }}",
    "{{ '{:1000000000000}'.format(1) }}",
    "{{ 'a' | center(10 ** 12) }}",
    "{{ 'a\na' | indent(10 ** 12) }}",
    "{{ 10 ** 10 ** 10 ** 10 ** 10 }}",
    "{% set ns = namespace(n=3) %}{% for i in range(100000) %}{% set ns.n = ns.n * ns.n %}{% endfor %}",
    "{% set s = 'a' * 3000000 %}{% for i in range(10000) %}{% if ('a' * 1000000 ~ 'b') in s %}{% endif %}{% endfor %}",
    "{% for i in range(100000) %}{% for j in range(100000) %}{{ 'x' }}{% endfor %}{% endfor %}",
    "{% set l = range(100000) | list %}{% for i in l %}{{ l | sort | first }}{% endfor %}",
  ])("are ended: %s", (template) => {
    expect(() => render(template)).toThrow(TemplateLimit);
  });

  it("are ended where they are nested deeper than a stack holds", () => {
    expect(() => render(`{{ ${"(".repeat(20_000)}1${")".repeat(20_000)} }}`)).toThrow(TemplateLimit);
    expect(() => render(`{{ 1${" + 1".repeat(200_000)} }}`)).toThrow(TemplateLimit);
  });
});

describe("what templates may reach", () => {
  it("is nothing of JavaScript's objects", () => {
    for (const name of [
      "constructor",
      "__proto__",
      "prototype",
      "__defineGetter__",
      "toString",
      "hasOwnProperty",
      "size",
    ]) {
      for (const value of [
        "''",
        "1",
        "[]",
        "{}",
        "messages",
        "messages[0]",
        "range",
        "namespace()",
        "(1,)",
        "range(3)",
      ]) {
        const variables = { messages: [{ role: "user" }] };
        expect(render(`{{ ${value}.${name} }}{{ ${value}['${name}'] }}`, variables)).toBe("");
        expect(render(`{{ ${value} | attr('${name}') }}`, variables)).toBe("");
      }
    }
    for (const name of ["process", "globalThis", "require", "constructor"]) expect(render(`{{ ${name} }}`)).toBe("");
  });

  it("keeps keys that look like JavaScript's own", () => {
    const object = JSON.parse('{"constructor": "c", "__proto__": "p", "size": 1}') as unknown;
    expect(render("{{ o.constructor }}{{ o['__proto__'] }}{{ o.size }}{{ o | tojson }}", { o: object })).toBe(
      'cp1{"constructor": "c", "__proto__": "p", "size": 1}',
    );
  });

  it("is what JSON can hold: other values of JavaScript are refused by name", () => {
    expect(() => render("", { x: { f: () => 1 } })).toThrow(/x\.f must be text/);
    expect(() => render("", { x: [new Date()] })).toThrow(/x\[0\] must be text/);
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    expect(() => render("", { x: cyclic })).toThrow(/nested/);
  });
});
