import { readdirSync } from "node:fs";
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
