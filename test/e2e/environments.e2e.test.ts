import { build } from "esbuild";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { translation } from "./support/golden.js";
import { model, root } from "./support/paths.js";
import { run, runModule } from "./support/run.js";

let folder: string;
beforeEach(async () => (folder = await mkdtemp(path.join(tmpdir(), "pergola-env-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

const question = JSON.stringify(translation.prompt);
const location = JSON.stringify(model);
const ask = `
  const llm = await LLMPipeline.load(${location});
  console.log((await llm.generate(${question}, { temperature: 0 })).text);
`;
const answered = { code: 0, signal: null, stdout: `${translation.text}\n`, stderr: "" };

describe("module systems", () => {
  it("require() from CommonJS works, without a warning", async () => {
    const [major, minor] = process.versions.node.split(".").map(Number) as [number, number];
    expect(major > 20 || minor >= 19).toBe(true);
    const source = `const { LLMPipeline } = require("pergola"); (async () => { ${ask} })();`;
    const outcome = await run(process.execPath, ["--eval", source]);
    // Node 20 says once that require() of a module is experimental; that is Node's own.
    const stderr = outcome.stderr.replace(
      /\(node:\d+\) ExperimentalWarning: CommonJS module .*\n\(Use `node --trace-warnings[^\n]*\n/,
      "",
    );
    expect({ ...outcome, stderr }).toEqual(answered);
  });

  it("require and import in one process share one addon", async () => {
    const source = `
      import { createRequire } from "node:module";
      import * as imported from "pergola";
      const required = createRequire(process.cwd() + "/x.js")("pergola");
      console.log(imported.LLMPipeline === required.LLMPipeline);
    `;
    expect((await runModule(source)).stdout).toBe("true\n");
  });

  it("works bundled by esbuild, with the addon left outside", async () => {
    await writeFile(path.join(folder, "main.ts"), `import { LLMPipeline } from "pergola";\n${ask}`);
    await build({
      entryPoints: [path.join(folder, "main.ts")],
      outfile: path.join(folder, "bundle.mjs"),
      alias: { pergola: path.join(root, "dist", "index.js") },
      external: ["*.node", "@pergola/*"],
      ...{ bundle: true, platform: "node", format: "esm", target: "node20", logLevel: "error" },
    });
    const env = { PERGOLA_NATIVE: path.join(root, "native", "bin", "pergola.node") };
    expect(await run(process.execPath, [path.join(folder, "bundle.mjs")], { cwd: folder, env })).toEqual(answered);
  });
});

describe("copies", () => {
  /** A second, complete copy of the package. The libraries are links: the addon finds them by its own place. */
  async function copyPackage(target: string): Promise<void> {
    await mkdir(path.join(target, "native"), { recursive: true });
    await cp(path.join(root, "dist"), path.join(target, "dist"), { recursive: true });
    await cp(path.join(root, "package.json"), path.join(target, "package.json"));
    await cp(path.join(root, "native", "bin"), path.join(target, "native", "bin"), { recursive: true });
    await cp(path.join(root, "native", "runtime", "libs"), path.join(target, "native", "runtime", "libs"), {
      recursive: true,
    });
    await symlink(path.join(root, "node_modules"), path.join(target, "node_modules"));
  }

  it("work from a moved folder", async () => {
    const moved = path.join(folder, "mövéd 模型 (x) #%20");
    await copyPackage(moved);
    const module = path.join(moved, "main.mjs");
    await writeFile(module, `import { LLMPipeline } from "pergola"; ${ask}`);
    // The first path of a library that comes from outside the moved folder would show here.
    await writeFile(
      path.join(moved, "maps.mjs"),
      `import { listDevices } from "pergola"; import { readFileSync } from "node:fs"; await listDevices();
       for (const file of new Set(readFileSync("/proc/self/maps", "utf8").match(/\\/.*(?:libopenvino|libtbb|pergola)[^\\n]*/g))) console.log(file);`,
    );
    expect(await run(process.execPath, [module], { cwd: folder })).toEqual(answered);
    const { stdout } = await run(process.execPath, [path.join(moved, "maps.mjs")], { cwd: folder });
    const mapped = stdout.trim().split("\n");
    expect(mapped.length).toBeGreaterThan(2);
    expect(mapped.filter((file) => !file.startsWith(moved))).toEqual([]);
  });

  it("work side by side in one process, and know each other's errors", async () => {
    const second = path.join(folder, "second");
    await copyPackage(second);
    const source = `
      import * as first from "pergola";
      import * as second from ${JSON.stringify(path.join(second, "dist", "index.js"))};
      console.log(first.LLMPipeline !== second.LLMPipeline);
      const pipelines = await Promise.all([first, second].map(({ LLMPipeline }) => LLMPipeline.load(${location})));
      const answers = await Promise.all(pipelines.map((llm) => llm.generate(${question}, { temperature: 0 })));
      for (const { text } of answers) console.log(text);
      const error = await second.LLMPipeline.load("no-such-model.gguf").catch((caught) => caught);
      console.log(error instanceof first.ModelError, first.ModelError.isInstance(error), first.OptionError.isInstance(error));
      for (const llm of pipelines) await llm.dispose();
    `;
    expect(await runModule(source)).toEqual({
      ...answered,
      stdout: `true\n${translation.text}\n${translation.text}\nfalse true false\n`,
    });
  });
});

describe("worker threads", () => {
  const worker = (body: string): string => `
    import { Worker } from "node:worker_threads";
    import { once } from "node:events";
    const startWorker = (body) => new Worker(new URL("data:text/javascript," + encodeURIComponent(body)));
    ${body}
  `;
  const inWorker = (body: string): string =>
    JSON.stringify(`
      import { parentPort } from "node:worker_threads";
      import { LLMPipeline } from ${JSON.stringify(`file://${path.join(root, "dist", "index.js")}`)};
      const llm = await LLMPipeline.load(${location});
      ${body}
    `);
  const answer = `parentPort.postMessage((await llm.generate(${question}, { temperature: 0 })).text);`;

  it("load and generate, several at once", async () => {
    const source = worker(`
      const workers = [1, 2].map(() => startWorker(${inWorker(answer)}));
      const exits = workers.map((one) => once(one, "exit"));
      for (const [text] of await Promise.all(workers.map((one) => once(one, "message")))) console.log(text);
      for (const [code] of await Promise.all(exits)) console.log(code);
    `);
    expect(await runModule(source)).toEqual({ ...answered, stdout: `${translation.text}\n`.repeat(2) + "0\n0\n" });
  });

  it("can be terminated in the middle of a stream, and the next one works", async () => {
    const streaming = inWorker(
      `for await (const chunk of llm.stream("Count to one thousand.", { maxNewTokens: 4000 })) parentPort.postMessage(chunk.text);`,
    );
    const source = worker(`
      for (let round = 0; round < 3; round++) {
        const one = startWorker(${streaming});
        await once(one, "message");
        await one.terminate();
      }
      const last = startWorker(${inWorker(answer)});
      console.log((await once(last, "message"))[0]);
    `);
    expect(await runModule(source)).toEqual(answered);
  });

  it("can be terminated in the middle of a load, while the main thread's pipeline goes on", async () => {
    const source = worker(`
      import { LLMPipeline } from "pergola";
      ${ask.replace("console.log", "void ")}
      const one = startWorker(${JSON.stringify(`
        import { parentPort } from "node:worker_threads";
        import { LLMPipeline } from ${JSON.stringify(`file://${path.join(root, "dist", "index.js")}`)};
        await LLMPipeline.load(${location}, { cache: false, properties: { NUM_STREAMS: 1 }, onProgress: () => parentPort.postMessage("loading") });
      `)});
      await once(one, "message");
      await one.terminate();
      console.log((await llm.generate(${question}, { temperature: 0 })).text);
    `);
    expect(await runModule(source)).toEqual(answered);
  });
});
