import { ESLint } from "eslint";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
// @ts-expect-error: a plain JavaScript file of the lint configuration
import { ALLOWED_IMPORTS, ALLOWED_ROOM_IMPORTS, FORBIDDEN_IMPORTS, FORBIDDEN_ROOM_IMPORTS } from "../eslint/layers.js";

const root = path.resolve(import.meta.dirname, "..");
const forbidden = FORBIDDEN_IMPORTS as [string, string][];
const forbiddenRooms = FORBIDDEN_ROOM_IMPORTS as [string, string][];
const allowed = arrowsOf(ALLOWED_IMPORTS as Record<string, string[]>);
const allowedRooms = arrowsOf(ALLOWED_ROOM_IMPORTS as Record<string, string[]>);

function arrowsOf(table: Record<string, string[]>): [string, string][] {
  return Object.entries(table).flatMap(([importer, layers]) =>
    layers.map((layer): [string, string] => [importer, layer]),
  );
}

/** Type-aware rules need files on disk; the rules under test do not. */
let eslint: ESLint;
beforeAll(() => {
  const rules = [
    "import-x/no-restricted-paths",
    "pergola/no-circles",
    "no-restricted-syntax",
    "no-restricted-properties",
  ];
  eslint = new ESLint({
    cwd: root,
    ruleFilter: ({ ruleId }) => rules.includes(ruleId),
    overrideConfig: { languageOptions: { parserOptions: { projectService: false, project: null } } },
  });
});

async function messages(file: string, source: string): Promise<string[]> {
  const [result] = await eslint.lintText(source, { filePath: path.join(root, file) });
  return result?.messages.map(({ ruleId, message }) => `${ruleId ?? "parse error"}: ${message}`) ?? [];
}

const fileIn = (layer: string) =>
  layer === "index" ? "sdk/index.ts" : `sdk/${layer.replace(/\/\*$/, "")}/some-file.ts`;

function specifier(importer: string, layer: string): string {
  const relative = path.relative(path.dirname(fileIn(importer)), fileIn(layer)).replace(/\.ts$/, ".js");
  return relative.startsWith(".") ? relative : `./${relative}`;
}

describe("import directions", () => {
  it.each([
    ["core", "text"],
    ["core", "llm"],
    ["text", "llm"],
    ["llm", "vlm"],
    ["whisper", "llm"],
    ["whisper", "generation"],
    ["generation", "llm"],
    ["generation", "media"],
    ["image", "vlm"],
    ["models", "text"],
    ["models", "llm"],
    ["core", "index"],
    ["llm", "cli"],
    ["cli", "llm"],
  ])("the table forbids %s -> %s", (importer, layer) => {
    expect(forbidden).toContainEqual([importer, layer]);
  });

  it.each([
    ["models/convert/read", "models/convert/ir"],
    ["models/convert/ir", "models/convert/models/common"],
    ["models/convert/models/llama", "models/convert/models/janus"],
    ["models/convert/models/whisper", "models/convert/run"],
    ["models/convert/run", "models/recognize"],
    ["models/recognize", "models/*"],
  ])("the table of rooms forbids %s -> %s", (importer, room) => {
    expect(forbiddenRooms).toContainEqual([importer, room]);
  });

  it.each([...forbidden, ...forbiddenRooms])("reports sdk/%s importing sdk/%s", async (importer, layer) => {
    const from = specifier(importer, layer);
    const found = await messages(fileIn(importer), `import { thing } from "${from}";\nexport const used = thing;\n`);
    expect(found).toEqual([expect.stringContaining(`sdk/${importer} must not import sdk/${layer}`)]);
  });

  it.each([...allowed, ...allowedRooms])("lets sdk/%s import sdk/%s", async (importer, layer) => {
    const from = specifier(importer, layer);
    expect(await messages(fileIn(importer), `import { thing } from "${from}";\nexport const used = thing;\n`)).toEqual(
      [],
    );
  });

  it.each([
    ["a type import", 'import type { Thing } from "../llm/thing.js";\nexport type Used = Thing;\n'],
    ["a re-export", 'export { thing } from "../llm/thing.js";\n'],
    ["a dynamic import", 'export const used = import("../llm/thing.js");\n'],
  ])("reports %s as well", async (_, source) => {
    expect(await messages("sdk/core/some-file.ts", source)).toEqual([
      expect.stringContaining("must not import sdk/llm"),
    ]);
  });

  it("lets a folder import itself and packages", async () => {
    const source = 'import { z } from "zod";\nimport { other } from "./other.js";\nexport const used = [z, other];\n';
    expect(await messages("sdk/core/some-file.ts", source)).toEqual([]);
  });
});

describe("circles of files", () => {
  // native.ts, on the disk, imports native-failure.ts.
  it.each([
    ["an import", 'import { getNative } from "./native.js";\nexport const used = getNative;\n'],
    ["a type import", 'import type { getNative } from "./native.js";\nexport type Used = typeof getNative;\n'],
    ["a re-export", 'export { getNative } from "./native.js";\n'],
    ["a dynamic import", 'export const used = import("./native.js");\n'],
    ["a way over other files", 'export { listDevices } from "./devices.js";\n'],
  ])("are reported: %s", async (_, source) => {
    expect(await messages("sdk/core/native-failure.ts", source)).toEqual([
      expect.stringMatching(/closes a circle of files: .*sdk\/core\/native\.ts → sdk\/core\/native-failure\.ts/),
    ]);
  });

  it("are none where no way leads back", async () => {
    const source = 'import { getNative } from "./native.js";\nexport const used = getNative;\n';
    expect(await messages("sdk/core/some-file.ts", source)).toEqual([]);
  });
});

describe("the addon", () => {
  const wrong = [
    [
      "require",
      'declare const require: (name: string) => unknown;\nexport const addon = require("../../native/bin/pergola.node");\n',
    ],
    ["a template", "export const file = (folder: string) => `${folder}/pergola.node`;\n"],
    ["process.dlopen", 'process.dlopen({ exports: {} }, ["pergola", "node"].join("."));\n'],
  ] as const;

  it.each(wrong)("may not be loaded elsewhere by %s", async (_, source) => {
    expect(await messages("sdk/llm/some-file.ts", source)).toEqual([
      expect.stringContaining("Only sdk/core/native.ts"),
    ]);
  });

  it.each(wrong)("may be loaded in sdk/core/native.ts by %s", async (_, source) => {
    expect(await messages("sdk/core/native.ts", source)).toEqual([]);
  });
});
