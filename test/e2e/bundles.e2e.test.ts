import { build, type BuildOptions } from "esbuild";
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { build as viteBuild } from "vite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { addon, root } from "./support/paths.js";
import { run } from "./support/run.js";

// Bundlers put JavaScript into one file, but no addon, and no file that is found by its place (bug report N15).

let folder: string;
beforeEach(async () => (folder = await mkdtemp(path.join(tmpdir(), "pergola-bundle-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

const fixture = (name: string): string => JSON.stringify(path.join(root, "test", "fixtures", name));

/** Uses every part that lies in a file of its own: addon, tokenizer's worker, conversion's worker, decoders. */
const program = `
  import { LLMPipeline, WhisperPipeline } from "pergola";
  const result = {};
  const part = async (name, work) => {
    try { result[name] = await work(); } catch (error) { result[name] = error.name + ": " + error.message; }
  };
  const settings = { cache: false, warmUp: false };
  (async () => {
    await part("answer", async () => {
      const llm = await LLMPipeline.load(${fixture("gguf/llama.gguf")}, settings);
      await part("long", () => llm.generate("ab ".repeat(20000), { maxNewTokens: 1 }));
      const { usage } = await llm.generate("hi", { maxNewTokens: 2 });
      await llm.dispose();
      return usage.completionTokens;
    });
    await part("checkpoint", async () => (await LLMPipeline.load(${fixture("llm/llama-tiny-hf")}, settings)).dispose());
    await part("audio", async () => {
      const whisper = await WhisperPipeline.load(${fixture("whisper/tiny-ir")}, settings);
      const transcribe = (file) => async () => (await whisper.transcribe(file)).duration;
      await part("mp3", transcribe(${fixture("audio/mp3-16k.mp3")}));
      await part("opus", transcribe(${fixture("audio/opus-stereo.ogg")}));
      await part("aLaw", transcribe(${fixture("audio/a-law.wav")}));
      await whisper.dispose();
    });
    console.log(JSON.stringify(result));
  })();
`;

const works = {
  answer: 2,
  long: expect.stringMatching(/^ContextLengthError: /) as string,
  mp3: expect.any(Number) as number,
  opus: expect.any(Number) as number,
  aLaw: expect.any(Number) as number,
};

async function runBundle(file: string, env: Record<string, string> = {}): Promise<unknown> {
  const cache = { PERGOLA_CACHE: path.join(folder, "cache") };
  const { stdout, stderr } = await run(process.execPath, [file], { cwd: folder, env: { ...cache, ...env } });
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Error(`The bundle printed no result: ${stdout}${stderr}`);
  }
}

async function bundle(name: string, options: BuildOptions): Promise<string> {
  const main = path.join(folder, "main.js");
  const outfile = path.join(folder, "out", name);
  await writeFile(main, program);
  await build({
    ...{ entryPoints: [main], outfile, bundle: true, platform: "node", target: "node20", logLevel: "silent" },
    ...options,
  });
  return outfile;
}

/** The package as npm would install it, reached from the folder of the bundle. */
async function install(): Promise<void> {
  await mkdir(path.join(folder, "node_modules"));
  await symlink(root, path.join(folder, "node_modules", "pergola"));
}

const inlined: BuildOptions = { alias: { pergola: path.join(root, "dist", "index.js") } };
const native = { PERGOLA_NATIVE: addon };
const requireForModules =
  "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);";

describe("with the package outside", () => {
  it.each(["esm", "cjs"] as const)("esbuild's %s works, minified too", async (format) => {
    await install();
    const name = format === "esm" ? "main.mjs" : "main.cjs";
    const file = await bundle(name, { format, minify: true, external: ["pergola"] });
    expect(await runBundle(file)).toEqual(works);
  });

  it("Vite's server build works", async () => {
    await install();
    await writeFile(path.join(folder, "main.js"), program);
    await viteBuild({
      ...{ root: folder, configFile: false, logLevel: "silent" },
      build: { ssr: "main.js", outDir: "out" },
      ssr: { external: ["pergola"] },
    });
    const [file] = await readdir(path.join(folder, "out"));
    expect(await runBundle(path.join(folder, "out", file!))).toEqual(works);
  });
});

describe("with the package inside", () => {
  it("CommonJS works where the addon is named", async () => {
    expect(await runBundle(await bundle("main.cjs", { ...inlined, format: "cjs" }), native)).toEqual(works);
  });

  it("a module with require works, and minified errors keep their names", async () => {
    const file = await bundle("main.mjs", {
      ...{ ...inlined, format: "esm", minify: true },
      banner: { js: requireForModules },
    });
    expect(await runBundle(file, native)).toEqual(works);
  });

  it("finds the addon of an installed package by itself", async () => {
    await install();
    expect(await runBundle(await bundle("main.cjs", { ...inlined, format: "cjs" }))).toEqual(works);
  });

  it("a module without require works but for decoders, which say what to do", async () => {
    const refused = expect.stringMatching(/^MediaError: .*bundled.*external/) as string;
    const file = await bundle("main.mjs", { ...inlined, format: "esm" });
    expect(await runBundle(file, native)).toEqual({ ...works, mp3: refused, opus: refused });
  });

  it("a missing addon says what to do", async () => {
    const file = await bundle("main.cjs", { ...inlined, format: "cjs" });
    const { answer } = (await runBundle(file)) as { answer: string };
    expect(answer).toMatch(/^NativeError: .*\n[^]*bundled[^]*--external:pergola[^]*PERGOLA_NATIVE/);
  });

  it("Vite's server build works where the addon is named", async () => {
    await install();
    await writeFile(path.join(folder, "main.js"), program);
    await viteBuild({
      ...{ root: folder, configFile: false, logLevel: "silent" },
      build: { ssr: "main.js", outDir: "out" },
      ssr: { noExternal: ["pergola"] },
    });
    await symlink(path.join(root, "node_modules"), path.join(folder, "out", "node_modules"));
    const file = (await readdir(path.join(folder, "out"))).find((name) => /^main\.m?js$/.test(name));
    expect(await runBundle(path.join(folder, "out", file!), native)).toEqual(works);
  });
});

it("esbuild goes on where the optional decoders are not installed, and their use says how to get them", async () => {
  const copy = path.join(folder, "pergola");
  await cp(path.join(root, "dist"), path.join(copy, "dist"), { recursive: true });
  await cp(path.join(root, "package.json"), path.join(copy, "package.json"));
  const decoders = path.join("node_modules", "@wasm-audio-decoders");
  await mkdir(path.join(copy, decoders), { recursive: true });
  await symlink(path.join(root, decoders, "common"), path.join(copy, decoders, "common"));
  for (const name of await readdir(path.join(root, "node_modules"))) {
    if (name.startsWith(".") || name === "mpg123-decoder" || name === "@wasm-audio-decoders") continue;
    await symlink(path.join(root, "node_modules", name), path.join(copy, "node_modules", name));
  }
  const file = await bundle("main.cjs", {
    format: "cjs",
    alias: { pergola: path.join(copy, "dist", "index.js") },
    preserveSymlinks: true,
  });
  const expected = expect.stringMatching(/^MediaError: .*npm install mpg123-decoder/) as string;
  expect(await runBundle(file, native)).toMatchObject({ mp3: expected, aLaw: works.aLaw });
});

it.each(["node16", "nodenext"])("TypeScript's CommonJS finds the types with module %s", async (module) => {
  await install();
  await writeFile(
    path.join(folder, "program.cts"),
    `import { LLMPipeline, OptionError, formatTranscript, type Transcript, type TextPipeline, PipelineStream } from "pergola";
     export async function ask(model: string): Promise<string> {
       const llm: LLMPipeline = await LLMPipeline.load(model, { device: "CPU" });
       const stream: PipelineStream<unknown, { text: string }> = llm.stream("x");
       // @ts-expect-error: no such option
       await llm.generate("x", { maxTokens: 1 });
       return (await stream.result).text;
     }
     export const one: Promise<TextPipeline> = LLMPipeline.load("m");
     export const srt = (transcript: Transcript): string => formatTranscript(transcript, "srt");
     export const isOption = (error: unknown): error is OptionError => OptionError.isInstance(error);
     // @ts-expect-error: exported as a type only
     import { TextPipeline as Value } from "pergola"; void Value;`,
  );
  const tsc = path.join(root, "node_modules", "typescript", "bin", "tsc");
  const flags = ["--noEmit", "--strict", "--ignoreConfig", "--module", module, "--target", "es2023"];
  const types = ["--typeRoots", path.join(root, "node_modules", "@types"), "--types", "node"];
  const library = ["--lib", "es2023,esnext.disposable"];
  expect(
    await run(process.execPath, [tsc, ...flags, ...types, ...library, "program.cts"], { cwd: folder }),
  ).toMatchObject({ code: 0, stdout: "" });
});
