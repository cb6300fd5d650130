import { build } from "esbuild";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import sharp from "sharp";
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

/** A sentence of the model that knows shapes: `a blue circle above a yellow triangle.` */
const SHAPES = "a (?:\\w+ )+(?:square|circle|triangle)\\.";
const shapes = "test/fixtures/vlm/llava_shapes-tiny-ir";

it("caption describes the picture and answers the question", async () => {
  const outcome = await sample("caption");
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  const lines = outcome.stdout.replaceAll(/after \d+ ms/g, "after N ms").split("\n");
  expect(lines).toEqual([
    "> Describe the image.",
    "a yellow square above a blue circle.",
    "[first token after N ms]",
    "> How many objects are there?",
    "two.",
    "[first token after N ms]",
    "",
  ]);
});

it("equation-to-latex prints the answer about its picture", async () => {
  const outcome = await sample("equation-to-latex", ["samples/media/equation.png", shapes]);
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  // The model knows nothing but shapes: it says what it takes the picture for, and of another picture something else.
  expect(outcome.stdout).toMatch(new RegExp(`^${SHAPES}\n$`));
  const other = await sample("equation-to-latex", ["test/fixtures/vlm/images/shapes/00.png", shapes]);
  expect(other.stdout).toMatch(new RegExp(`^${SHAPES}\n$`));
  expect(other.stdout).not.toBe(outcome.stdout);
});

it("plot-to-code prints what it read as comments, then the program", async () => {
  const outcome = await sample("plot-to-code", ["samples/media/plot.png", shapes]);
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  expect(outcome.stdout).toMatch(new RegExp(`^# ${SHAPES}\n${SHAPES}\n$`));
});

it("imagine writes the picture and tells how far it is", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "pergola-imagine-"));
  try {
    const out = path.join(folder, "cube.png");
    const outcome = await sample("imagine", ["A red cube.", "test/fixtures/janus/tiny-ir", out]);
    expect(outcome).toMatchObject({ code: 0, stderr: "" });
    const lines = outcome.stdout.trim().split("\n");
    expect(lines.at(-2)).toBe("16 of 16 tokens");
    expect(lines.at(-1)).toMatch(/cube\.png \[complete: seed \d+, [\d.]+ s\]$/);
    expect(await sharp(out).metadata()).toMatchObject({ format: "png", width: 32, height: 32, channels: 3 });
    expect(readdirSync(folder)).toEqual(["cube.png"]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

it("every sample is named in the samples' README and tested here", async () => {
  const names = readdirSync(path.join(root, "samples")).filter((file) => file.endsWith(".ts"));
  const tested = [
    ...["batch", "caption", "chat", "equation-to-latex", "imagine", "live-captions"],
    ...["plot-to-code", "stream", "subtitles", "transcribe"],
  ].map((name) => `${name}.ts`);
  expect(names.sort()).toEqual(tested);
  const readme = readFileSync(path.join(root, "samples", "README.md"), "utf8");
  for (const name of names) expect(readme).toContain(`](${name})`);
});

it("the demo transcribes a message, describes a picture, asks about the message, and asks a question of its own where there is no terminal", async () => {
  const outcome = await run(process.execPath, [path.join(root, "scripts", "demo.mjs")]);
  expect(outcome).toMatchObject({ code: 0, stdout: expect.stringMatching(/windy[^]*\n[^]*Paris.*\n$/) });
  expect(outcome.stderr).toContain(`> ${report.lines.join(" ")}\n`);
  expect(outcome.stderr).toContain("> a yellow square above a blue circle.\n");
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
  expect(outcome).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringMatching(/Paris[^]*\n[^]*(?:blue|light|scatter)/),
  });
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

it("the pictures of the README work", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "pergola-readme-"));
  try {
    const readme = readFileSync(path.join(root, "README.md"), "utf8");
    const block = /```ts\n([^`]*ImagePipeline[^`]*)```/.exec(readme)![1]!;
    const contents = block
      .replaceAll("models/Janus-Pro-1B", "test/fixtures/janus/tiny")
      .replaceAll("bicycle.png", `${folder}/bicycle.png`);
    expect(contents.match(/janus\/tiny/g)).toHaveLength(2);
    const { outputFiles } = await build({
      stdin: { contents, loader: "ts", resolveDir: root },
      ...{ bundle: true, packages: "external", platform: "node", format: "esm", target: "node20", write: false },
    });
    const env = { PERGOLA_CACHE: path.join(folder, "cache") };
    const outcome = await run(process.execPath, ["--input-type=module", "--eval", outputFiles[0]!.text], { env });
    expect(outcome).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/\S+/) });
    expect(await sharp(path.join(folder, "bicycle.png")).metadata()).toMatchObject({ width: 32, height: 32 });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
