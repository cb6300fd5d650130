import { describe, expect, it } from "vitest";
import { translation } from "./support/golden.js";
import { model } from "./support/paths.js";
import { runModule, type Outcome, type RunOptions } from "./support/run.js";

// How programs end (bug report J4): the right code, nothing on stderr, no hang. A hang ends in the helper's SIGKILL.

const LOAD = `
import { LLMPipeline } from "pergola";
const llm = await LLMPipeline.load(${JSON.stringify(model)});
`;
const STREAM = `${LOAD}
const stream = llm.stream("Count to one thousand.", { maxNewTokens: 4000 });
const iterator = stream[Symbol.asyncIterator]();
await iterator.next();
`;

const clean = { code: 0, signal: null, stderr: "" };

async function ends(source: string, options?: RunOptions): Promise<Outcome> {
  return runModule(source, { timeout: 60_000, ...options });
}

describe("a program ends", () => {
  it("when it only imports the package", async () => {
    expect(await ends('import * as pergola from "pergola"; console.log(typeof pergola.LLMPipeline);')).toEqual({
      ...clean,
      stdout: "function\n",
    });
  });

  it("by itself with an idle pipeline open", async () => {
    expect(await ends(`${LOAD} console.log((await llm.generate("Hi", { maxNewTokens: 3 })).tokens.length);`)).toEqual({
      ...clean,
      stdout: "3\n",
    });
  });

  it("by itself after dispose", async () => {
    expect(await ends(`${LOAD} await llm.dispose(); await llm.dispose();`)).toMatchObject(clean);
  });

  it("by itself once an answer nobody waits for is there", async () => {
    const source = `${LOAD} llm.generate(${JSON.stringify(translation.prompt)}, { temperature: 0 }).then((r) => console.log(r.text));`;
    expect(await ends(source)).toEqual({ ...clean, stdout: `${translation.text}\n` });
  });

  it("by process.exit(0) with an idle pipeline", async () => {
    expect(await ends(`${LOAD} process.exit(0);`)).toMatchObject(clean);
  });

  it("by process.exit(0) in the middle of a stream", async () => {
    expect(await ends(`${STREAM} process.exit(0);`)).toMatchObject(clean);
  });

  it("by process.exit() whenever it is called, with four answers on their way", async () => {
    // Inferences follow each other closely, so some of these fall into one.
    for (let delay = 0; delay < 36; delay += 3) {
      const source = `${LOAD} setTimeout(() => process.exit(7), ${delay});
        for (;;) await Promise.all([1, 2, 3, 4].map(() => llm.generate("a", { maxNewTokens: 100, ignoreEos: true })));`;
      expect(await ends(source)).toMatchObject({ ...clean, code: 7 });
    }
  });

  it("by process.exit(0) in the middle of a load", async () => {
    const source = `
      import { LLMPipeline } from "pergola";
      LLMPipeline.load(${JSON.stringify(model)}, { cache: false, onProgress: () => setImmediate(() => process.exit(0)) });
    `;
    expect(await ends(source)).toMatchObject(clean);
  });

  it("with code 1 and the error at an uncaught error in the middle of a stream", async () => {
    const outcome = await ends(
      `${STREAM} setTimeout(() => { throw new Error("of the program"); }, 0); await new Promise(() => {});`,
    );
    expect(outcome).toMatchObject({ code: 1, signal: null });
    expect(outcome.stderr).toMatch(/Error: of the program/);
    expect(outcome.stderr).not.toMatch(/terminate called|Segmentation|FATAL/);
  });

  it.each(["SIGINT", "SIGTERM"] as const)("by %s in the middle of a stream", async (signal) => {
    const source = `${STREAM} console.log("streaming"); for await (const chunk of { [Symbol.asyncIterator]: () => iterator });`;
    const outcome = await ends(source, {
      onStart: (child) => void child.waitFor(/streaming/).then(() => child.kill(signal)),
    });
    expect(outcome).toMatchObject({ code: null, signal, stderr: "" });
  });

  it("with code 130 where a handler of the program cancels at SIGINT", async () => {
    const source = `${STREAM}
      process.once("SIGINT", async () => { await stream.cancel(); await llm.dispose(); process.exitCode = 130; });
      console.log("streaming");
    `;
    const outcome = await ends(source, {
      onStart: (child) => void child.waitFor(/streaming/).then(() => child.kill("SIGINT")),
    });
    expect(outcome).toMatchObject({ code: 130, signal: null, stderr: "" });
  });
});
