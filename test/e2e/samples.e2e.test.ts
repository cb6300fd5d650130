import { build } from "esbuild";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { parseSrt, parseVtt } from "../../sdk/testing/subtitle-parsers.js";
import { sum, translation } from "./support/golden.js";
import { root } from "./support/paths.js";
import { run, type Outcome, type RunOptions } from "./support/run.js";
import { report, telephone } from "./support/speech.js";

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

it("transcribe prints each segment with its time, then what it cost", async () => {
  const outcome = await sample("transcribe", [report.file]);
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  const lines = report.segments.map(({ start, text }) => `${start.toFixed(2).padStart(8)}  ${text.trim()}\n`);
  expect(outcome.stdout.startsWith(lines.join(""))).toBe(true);
  expect(outcome.stdout.slice(lines.join("").length)).toMatch(/^\[en: 7\.4 s in [\d.]+ s, 1 windows\]\n$/);
});

it("subtitles writes both formats", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "pergola-subtitles-"));
  try {
    const outcome = await sample("subtitles", [report.file, folder]);
    const [srt, vtt] = ["srt", "vtt"].map((format) => path.join(folder, `say-en-2.${format}`)) as [string, string];
    expect(outcome).toEqual({ code: 0, signal: null, stdout: `${srt}\n${vtt}\n`, stderr: "" });
    const text = report.lines.join(" ");
    expect(
      parseSrt(await readFile(srt, "utf8"))
        .flatMap(({ lines }) => lines)
        .join(" "),
    ).toBe(text);
    expect(
      parseVtt(await readFile(vtt, "utf8"))
        .flatMap(({ spans }) => spans)
        .join(" "),
    ).toBe(text);
    expect(readdirSync(folder).sort()).toEqual(["say-en-2.srt", "say-en-2.vtt"]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

it("live captions come from a file that stands in for a microphone", async () => {
  const outcome = await sample("live-captions", [telephone.file, "--fast"]);
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  expect(outcome.stdout).toMatch(/^ *\d+\.\d {2}My telephone number/);
  expect(outcome.stdout).toMatch(/Thank you very much for your help\.?\n$/);
});

it("every sample is named in the samples' README and tested here", async () => {
  const names = readdirSync(path.join(root, "samples")).filter((file) => file.endsWith(".ts"));
  const tested = ["batch.ts", "chat.ts", "live-captions.ts", "stream.ts", "subtitles.ts", "transcribe.ts"];
  expect(names.sort()).toEqual(tested);
  const readme = readFileSync(path.join(root, "samples", "README.md"), "utf8");
  for (const name of names) expect(readme).toContain(`](${name})`);
});

it("the demo transcribes a message, asks about it, and asks a question of its own where there is no terminal", async () => {
  const outcome = await run(process.execPath, [path.join(root, "scripts", "demo.mjs")]);
  expect(outcome).toMatchObject({ code: 0, stdout: expect.stringMatching(/windy[^]*\n[^]*Paris.*\n$/) });
  expect(outcome.stderr).toContain(`> ${report.lines.join(" ")}\n`);
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

it("the transcripts of the README work", async () => {
  const readme = readFileSync(path.join(root, "README.md"), "utf8");
  const block = /```ts\n([^`]*WhisperPipeline[^`]*)```/.exec(readme)![1]!;
  const contents = block.replaceAll("talk.wav", report.file);
  expect(contents).not.toBe(block);
  const { outputFiles } = await build({
    stdin: { contents, loader: "ts", resolveDir: root },
    ...{ bundle: true, packages: "external", platform: "node", format: "esm", target: "node20", write: false },
  });
  const outcome = await run(process.execPath, ["--input-type=module", "--eval", outputFiles[0]!.text]);
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  const [text, ...segments] = [report.lines.join(" "), ...report.segments.map(({ start, text }) => `${start} ${text}`)];
  expect(outcome.stdout.startsWith(`${text} 1\n00:00:00,000 --> `)).toBe(true);
  expect(outcome.stdout.endsWith(`${segments.join("\n")}\n`)).toBe(true);
});
