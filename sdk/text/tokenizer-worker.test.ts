import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const ENTRY = "sdk/text/tokenizer.ts";
const run = promisify(execFile);

/**
 * The worker thread exists in compiled form only. These tests compile what the tokenizer needs into a folder inside the project (so
 * that packages are found) and use it in a process of its own, as an app would.
 */
let folder: string;

beforeAll(async () => {
  const parent = join(ROOT, "node_modules", ".cache");
  await mkdir(parent, { recursive: true });
  folder = await mkdtemp(join(parent, "pergola-worker-"));
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await compile(ENTRY, new Set());
  await compile("sdk/text/tokenizer-worker.ts", new Set());
}, 60_000);

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function compile(path: string, done: Set<string>): Promise<void> {
  if (done.has(path)) return;
  done.add(path);
  const source = await readFile(join(ROOT, path), "utf8");
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, verbatimModuleSyntax: true },
  });
  const target = join(folder, path.replace(/\.ts$/, ".js"));
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, outputText);
  for (const [, imported] of outputText.matchAll(/from "(\.[^"]+)\.js"/g)) {
    await compile(join(dirname(path), `${imported}.ts`), done);
  }
}

/** Runs a script in which `Tokenizer` and a long `text` are at hand, and returns what it prints as JSON. */
async function script(body: string): Promise<unknown> {
  const file = join(folder, "script.mjs");
  await writeFile(
    file,
    `import { readFileSync } from "node:fs";
     import { Tokenizer } from ${JSON.stringify(`./${ENTRY.replace(/\.ts$/, ".js")}`)};
     const folder = ${JSON.stringify(join(ROOT, "test/fixtures/llm/llama-tiny-hf"))};
     const { variants, texts } = JSON.parse(readFileSync(${JSON.stringify(join(ROOT, "test/fixtures/text/tokenizer-json.json"))}, "utf8"));
     const files = { file: "t.json", tokenizer: variants["byte level"].tokenizer };
     const text = texts.join("\\n").repeat(6);
     const print = (value) => console.log(JSON.stringify(value));
     ${body}`,
  );
  const { stdout, stderr } = await run(process.execPath, [file], { timeout: 30_000 });
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

const same = "JSON.stringify(await tokenizer.encodeAsync(text)) === JSON.stringify(tokenizer.encode(text))";

describe("the tokenizer's worker thread", () => {
  it("gives the same ids while the main thread goes on, and lets the process end", async () => {
    const result = await script(`
      const tokenizer = await Tokenizer.fromFiles(files);
      let workers = 0;
      process.on("worker", () => workers++);
      let turns = 0;
      const timer = setInterval(() => turns++, 1);
      const ids = await tokenizer.encodeAsync(text);
      clearInterval(timer);
      print({ long: text.length > 20000, same: JSON.stringify(ids) === JSON.stringify(tokenizer.encode(text)), turned: turns > 3, workers });
    `);
    expect(result).toEqual({ long: true, same: true, turned: true, workers: 1 });
  });

  it("makes the tokenizer from a folder, handles many texts at once and keeps options", async () => {
    const result = await script(`
      const tokenizer = await Tokenizer.fromFolder(folder);
      const marked = "<|im_start|>" + text + "<|im_end|>";
      const options = [{}, { allowControlTokens: false }, { addSpecialTokens: false }, { barrier: "a" }];
      const many = await Promise.all(options.map((each) => tokenizer.encodeAsync(marked, each)));
      print(many.map((ids, index) => JSON.stringify(ids) === JSON.stringify(tokenizer.encode(marked, options[index]))));
    `);
    expect(result).toEqual([true, true, true, true]);
  });

  it("rejects what is under way when the tokenizer is disposed, and does not keep the process", async () => {
    const result = await script(`
      const tokenizer = await Tokenizer.fromFiles(files);
      const pending = tokenizer.encodeAsync(text).then(() => "done", (error) => error.code);
      await tokenizer.dispose();
      await tokenizer.dispose();
      print([await pending, await tokenizer.encodeAsync(text).catch((error) => error.code), tokenizer.encode("a").length > 0]);
    `);
    expect(result).toEqual(["disposed", "disposed", true]);
  });

  it("goes on in the calling thread where the worker cannot start", async () => {
    await rm(join(folder, "sdk/text/tokenizer-worker.js"));
    try {
      expect(await script(`const tokenizer = await Tokenizer.fromFiles(files); print([${same}, ${same}]);`)).toEqual([
        true,
        true,
      ]);
    } finally {
      await compile("sdk/text/tokenizer-worker.ts", new Set());
    }
  });

  it("starts another worker where one died", async () => {
    const result = await script(`
      const tokenizer = await Tokenizer.fromFiles(files);
      let workers = 0;
      process.on("worker", (worker) => { if (workers++ === 0) void worker.terminate(); });
      const first = ${same};
      const second = ${same};
      const third = ${same};
      print({ first, second, third, workers });
    `);
    expect(result).toEqual({ first: true, second: true, third: true, workers: 2 });
  });

  it("goes on in the calling thread where the files are gone", async () => {
    const result = await script(`
      import { cpSync, mkdtempSync, rmSync } from "node:fs";
      import { tmpdir } from "node:os";
      const copy = mkdtempSync(tmpdir() + "/pergola-gone-");
      cpSync(folder, copy, { recursive: true });
      const tokenizer = await Tokenizer.fromFolder(copy);
      rmSync(copy, { recursive: true });
      print([${same}, ${same}]);
    `);
    expect(result).toEqual([true, true]);
  });
});
