import { build } from "esbuild";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { sum, translation } from "./support/golden.js";
import { root } from "./support/paths.js";
import { run, type Outcome, type RunOptions } from "./support/run.js";

function sample(name: string, args: string[] = [], options?: RunOptions): Promise<Outcome> {
  return run(process.execPath, [path.join(root, "scripts", "sample.mjs"), name, ...args], options);
}

const model = "models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";

it("stream prints the answer and its figures", async () => {
  const outcome = await sample("stream", [model, translation.prompt]);
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  const figures = `\\[stop: ${translation.promptTokens} \\+ ${translation.tokens.length} tokens, first after \\d+ ms, then [\\d.]+ a second\\]`;
  expect(outcome.stdout).toMatch(new RegExp(`^${translation.text.replaceAll(".", "\\.")}\n${figures}\n$`));
});

it("batch prints each prompt with its own answer", async () => {
  const outcome = await sample("batch");
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  for (const { prompt, text } of [translation, sum]) expect(outcome.stdout).toContain(`${prompt}\n  ${text}\n`);
});

it("chat answers what is typed and ends with the input", async () => {
  const outcome = await sample("chat", [], { input: "What is the capital of France?\nAnd of Italy?\n" });
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  expect(outcome.stdout).toMatch(/^> [^]*Paris[^]*\n> [^]*Italy[^]*\n> $/);
});

it("every sample is named in the samples' README and tested here", async () => {
  const names = readdirSync(path.join(root, "samples")).filter((file) => file.endsWith(".ts"));
  expect(names.sort()).toEqual(["batch.ts", "chat.ts", "stream.ts"]);
});

it("the demo asks a question of its own where there is no terminal", async () => {
  const outcome = await run(process.execPath, [path.join(root, "scripts", "demo.mjs")]);
  expect(outcome).toMatchObject({ code: 0, stdout: expect.stringMatching(/Paris.*\n$/) });
});

it("the first program of the README runs", async () => {
  const readme = readFileSync(path.join(root, "README.md"), "utf8");
  const contents = /```ts\n([^]*?)```/.exec(readme)?.[1];
  expect(contents).toMatch(/import \{ LLMPipeline \} from "pergola"/);
  const { outputFiles } = await build({
    stdin: { contents: contents!, loader: "ts", resolveDir: root },
    ...{ bundle: true, packages: "external", platform: "node", format: "esm", target: "node20", write: false },
  });
  const outcome = await run(process.execPath, ["--input-type=module", "--eval", outputFiles[0]!.text]);
  expect(outcome).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/Paris[^]*\w+/) });
});
