import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { translation } from "./support/golden.js";
import { model, root } from "./support/paths.js";
import { run, type Outcome } from "./support/run.js";

// What users install (bug report J1): both packages packed, installed into an empty folder without running scripts.

let folder: string;
let packages: string[];
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "pergola-packages-"));
  const { code, stdout } = await run(process.execPath, [
    path.join(root, "scripts", "pack.mjs"),
    path.join(folder, "tarballs"),
  ]);
  expect(code).toBe(0);
  packages = stdout.trim().split("\n");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A new project with the packages installed. Dependencies come from npm's cache where it has them. */
async function project(name: string, tarballs: string[], ...flags: string[]): Promise<string> {
  const target = path.join(folder, name);
  await mkdir(target);
  await writeFile(path.join(target, "package.json"), JSON.stringify({ name, private: true, type: "module" }));
  const args = ["install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", ...flags, ...tarballs];
  const { code, stderr } = await run("npm", args, { cwd: target, timeout: 240_000 });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return target;
}

function program(target: string, source: string): Promise<Outcome> {
  return run(process.execPath, ["--input-type=module", "--eval", source], { cwd: target });
}

const ask = `
  import { LLMPipeline } from "pergola";
  const llm = await LLMPipeline.load(${JSON.stringify(model)});
  console.log((await llm.generate(${JSON.stringify(translation.prompt)}, { temperature: 0 })).text);
`;

it("name platforms only where there is native code", async () => {
  const manifestOf = async (file: string): Promise<unknown> => {
    const { stdout } = await run("tar", ["-xzOf", file, "package/package.json"]);
    return JSON.parse(stdout);
  };
  const sdk = await manifestOf(packages[0]!);
  for (const field of ["os", "cpu", "libc", "scripts"]) expect(sdk).not.toHaveProperty(field);
  expect(await manifestOf(packages[1]!)).toMatchObject({ os: ["linux"], cpu: ["x64"], libc: ["glibc"] });
});

it("are two files, named by version", () => {
  expect(packages.map((file) => path.basename(file))).toEqual([
    expect.stringMatching(/^pergola-\d+\.\d+\.\d+\.tgz$/),
    expect.stringMatching(/^pergola-linux-x64-\d+\.\d+\.\d+\.tgz$/),
  ]);
});

describe("installed together", () => {
  let target: string;
  beforeAll(async () => {
    target = await project("complete", packages);
  });

  it("import cleanly and answer", async () => {
    expect(await program(target, ask)).toEqual({ code: 0, signal: null, stdout: `${translation.text}\n`, stderr: "" });
  });

  it("bring the command", async () => {
    const { code, stdout } = await run("npx", ["--no-install", "pergola", "doctor", "--model", model], { cwd: target });
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/✓ Runtime +OpenVINO/) });
  });

  it("have types that resolve", async () => {
    await writeFile(
      path.join(target, "types.ts"),
      `import { LLMPipeline } from "pergola";
const llm = await LLMPipeline.load("m.gguf", { device: "CPU" });
const text: string = (await llm.generate("x", { maxNewTokens: 1 })).text;
// @ts-expect-error: no such option
await llm.generate(text, { maxTokens: 1 });
`,
    );
    const tsc = path.join(root, "node_modules", "typescript", "bin", "tsc");
    const flags = [
      "--noEmit",
      "--strict",
      "--ignoreConfig",
      "--module",
      "nodenext",
      "--target",
      "es2023",
      "--lib",
      "es2023,esnext.disposable",
    ];
    // Types of Node are the project's own matter; here they come from the clone.
    const types = ["--typeRoots", path.join(root, "node_modules", "@types"), "--types", "node"];
    expect(await run(process.execPath, [tsc, ...flags, ...types, "types.ts"], { cwd: target })).toMatchObject({
      code: 0,
      stdout: "",
    });
  });

  it("carry no sources, tests or build tools", async () => {
    const installed = path.join(target, "node_modules", "pergola");
    expect((await readdir(installed)).sort()).toEqual(["LICENSE", "README.md", "dist", "docs", "package.json"]);
    const files = await readdir(path.join(installed, "dist"), { recursive: true });
    expect(files.filter((file) => /test|testing/.test(file))).toEqual([]);
  });
});

describe("without the platform package", () => {
  let target: string;
  beforeAll(async () => {
    target = await project("incomplete", [packages[0]!], "--omit=optional");
  });

  it("import works on other platforms too, and the first use tells which ones there are", async () => {
    const source = `
      for (const [name, value] of [["platform", "darwin"], ["arch", "arm64"]]) Object.defineProperty(process, name, { value });
      const { LLMPipeline, NativeError, formatTranscript } = await import("pergola");
      console.log(formatTranscript({ segments: [] }, "vtt").trim());
      const error = await LLMPipeline.load(${JSON.stringify(model)}).catch((caught) => caught);
      console.log(error instanceof NativeError, error.message);
    `;
    const { code, stdout, stderr } = await program(target, source);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^WEBVTT\ntrue .*loaded on darwin-arm64/);
    expect(stdout).toMatch(/no build for darwin-arm64; supported: linux-x64 \(Linux on x64 with glibc\)/);
  });

  it("import still works, and the first use explains what to do", async () => {
    const source = `
      import { LLMPipeline, NativeError } from "pergola";
      const error = await LLMPipeline.load(${JSON.stringify(model)}).catch((caught) => caught);
      console.log(error instanceof NativeError);
      console.log(error.message);
    `;
    const { code, stdout, stderr } = await program(target, source);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^true\n/);
    expect(stdout).toMatch(/@pergola\/linux-x64/);
    expect(stdout).toMatch(/npm (install|i)\b/);
    expect(stdout).toContain(process.versions.node);
  });
});
