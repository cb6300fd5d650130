import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parseSrt, parseVtt } from "../../sdk/testing/subtitle-parsers.js";
import { command, root } from "./support/paths.js";
import { pergola, RunningChild, type Outcome } from "./support/run.js";
import { base, longRecording, report, telephone, tinyEn } from "./support/speech.js";

function transcribe(args: string[], options?: Parameters<typeof pergola>[1]): Promise<Outcome> {
  return pergola(["transcribe", "-m", tinyEn, ...args], options);
}

let folder: string;
beforeEach(async () => (folder = await mkdtemp(path.join(tmpdir(), "pergola-transcribe-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("a recording", () => {
  it("goes to stdout as text, and nothing to stderr", async () => {
    const outcome = await transcribe([telephone.file]);
    expect(outcome).toEqual({ code: 0, signal: null, stdout: `${telephone.lines.join("\n")}\n`, stderr: "" });
  });

  it("may come from stdin", async () => {
    const outcome = await transcribe(["-"], { input: await readFile(path.join(root, telephone.file)) });
    expect(outcome).toMatchObject({ code: 0, stdout: `${telephone.lines.join("\n")}\n`, stderr: "" });
  });

  it("with --json is exactly the result object", async () => {
    const { code, stdout, stderr } = await transcribe([report.file, "--json", "--timestamps", "word"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const result = JSON.parse(stdout) as { segments: Record<string, unknown>[] } & Record<string, unknown>;
    const keys = ["text", "language", "languageProbability", "duration", "segments", "finishReason", "metrics"];
    expect(Object.keys(result).sort()).toEqual(keys.sort());
    expect(result).toMatchObject({ language: "en", languageProbability: 1, finishReason: "stop" });
    expect(result["text"]).toBe(report.lines.join(" "));
    expect(result.segments).toMatchObject(report.segments.map(({ text }) => ({ text })));
    for (const segment of result.segments) {
      expect(segment["words"]).toContainEqual(
        expect.objectContaining({ word: expect.any(String), start: expect.any(Number) }),
      );
    }
  });

  it("has the times that the reference gives its segments", async () => {
    const { stdout } = await transcribe([report.file, "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ segments: report.segments.map(({ start, end }) => ({ start, end })) });
  });

  it("becomes subtitles that strict readers accept", async () => {
    const srt = path.join(folder, "report.srt");
    expect(await transcribe([report.file, "--out", srt])).toEqual({ code: 0, signal: null, stdout: "", stderr: "" });
    const cues = parseSrt(await readFile(srt, "utf8"));
    expect(cues.flatMap(({ lines }) => lines).join(" ")).toBe(report.lines.join(" "));
    expect(cues[0]!.start).toBe(report.segments[0]!.start * 1000);

    const vtt = await transcribe([report.file, "-f", "vtt", "--highlight-words", "--max-line-length", "20"]);
    const marked = parseVtt(vtt.stdout);
    expect(marked.flatMap(({ lines }) => lines).join(" ")).toBe(report.lines.join(" "));
    expect(marked.flatMap(({ spans }) => spans).join(" ")).toBe(report.lines.join(" "));
    for (const line of marked.flatMap(({ lines }) => lines)) expect(line.length).toBeLessThanOrEqual(20);
  });

  it("is transcribed in part with --range", async () => {
    const [, second] = report.segments;
    const { code, stdout } = await transcribe([report.file, "--json", "--range", `${second!.start}-`]);
    expect(code).toBe(0);
    const { segments, text } = JSON.parse(stdout) as { segments: { start: number }[]; text: string };
    expect(text).toMatch(/tomorrow/);
    expect(text).not.toMatch(/report/);
    for (const { start } of segments) expect(start).toBeGreaterThanOrEqual(second!.start);
  });

  it("is read in a language that the model knows", async () => {
    const { code, stdout } = await pergola(["transcribe", "-m", base, telephone.file, "--json"]);
    expect(code).toBe(0);
    const { language, languageProbability } = JSON.parse(stdout) as Record<string, number | string>;
    expect(language).toBe("en");
    expect(languageProbability).toBeGreaterThan(0.5);
  });
});

describe("several recordings", () => {
  it("stand under their names, in one run", async () => {
    const { code, stdout } = await transcribe([telephone.file, report.file]);
    expect(code).toBe(0);
    const parts = [telephone, report].map(({ file, lines }) => `==> ${file} <==\n${lines.join("\n")}\n`);
    expect(stdout).toBe(parts.join("\n"));
  });

  it("go on after one that cannot be read", async () => {
    const broken = path.join(folder, "broken.wav");
    await writeFile(broken, "RIFF of nothing");
    const out = path.join(folder, "texts");
    const outcome = await transcribe(["no-such-file.wav", broken, telephone.file, "--out", out]);
    expect(outcome).toMatchObject({ code: 1, stdout: "" });
    expect(outcome.stderr).toMatch(/^error: .*no-such-file\.wav.*\nerror: .*broken\.wav.*\n$/);
    expect(await readdir(out)).toEqual(["say-en-3.txt"]);
    expect(await readFile(path.join(out, "say-en-3.txt"), "utf8")).toBe(`${telephone.lines.join("\n")}\n`);
  });
});

describe("Ctrl-C", () => {
  it("ends with 130 and keeps what was printed", async () => {
    const long = path.join(folder, "long.wav");
    await writeFile(long, longRecording(40));
    const child = new RunningChild(process.execPath, [command, "transcribe", "-m", tinyEn, long]);
    await child.waitFor(/\n/);
    child.kill("SIGINT");
    const { code, signal, stdout, stderr } = await child.outcome;
    expect({ code, signal, stderr }).toEqual({ code: 130, signal: null, stderr: "" });
    expect(stdout).toMatch(/\S\n$/);
    // Four lines a round in all.
    expect(stdout.split("\n").length).toBeLessThan(80);
  });
});

describe("wrong use", () => {
  it.each<[string, string[], RegExp]>([
    ["no audio", [], /missing required argument 'audio'/],
    ["an unknown format", ["a.wav", "-f", "ass"], /Allowed choices are txt, srt, vtt, json/],
    ["a range that is none", ["a.wav", "--range", "90"], /such as 90-120/],
    ["stdin twice", ["-", "-"], /can be done once/],
    ["layout of text", ["a.wav", "--max-lines", "1"], /--max-lines lays out subtitles/],
    ["subtitles of two files on stdout", ["a.wav", "b.wav", "-f", "srt"], /add --out FOLDER/],
    ["a language that the model does not have", [telephone.file, "-l", "de"], /--language[^]*English/],
    ["a beam that is none", [telephone.file, "--beam-size", "0"], /--beam-size must be/],
  ])("ends with 2 and one message for %s", async (_, args, message) => {
    const { code, stdout, stderr } = await transcribe(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^ +at /m);
  });

  it("ends with 1 and one message for a model that is not there", async () => {
    const { code, stdout, stderr } = await pergola(["transcribe", telephone.file, "-m", "no/such/model"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/no\/such\/model/);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });
});

describe("bench whisper", () => {
  let reference: string;
  let own: string;
  beforeAll(async () => {
    own = await mkdtemp(path.join(tmpdir(), "pergola-reference-"));
    reference = path.join(own, "reference.txt");
    // Two words differ from what the model hears.
    await writeFile(reference, report.lines.join(" ").replace("report", "letter").replace("windy", "rainy"));
  });
  afterAll(() => rm(own, { recursive: true, force: true }));

  it("prints one figure for each measure, and word errors", async () => {
    const args = ["-m", tinyEn, "--audio", report.file, "--reference", reference, "--runs", "2", "--json"];
    const { code, stdout, stderr } = await pergola(["bench", "whisper", ...args]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const result = JSON.parse(stdout) as { runs: object[]; summary: Record<string, number> } & Record<string, unknown>;
    expect(result.runs).toHaveLength(2);
    expect(result["wordErrors"]).toMatchObject({ errors: 2 });
    expect(result["text"]).toBe(report.lines.join(" "));
    for (const key of ["durationMs", "realTimeFactor", "firstSegmentMs", "melMs", "encoderMs", "decoderMs", "tokens"]) {
      expect(result.summary[key], key).toBeGreaterThan(0);
    }
    expect(result.summary["windows"]).toBe(1);
  });

  it("tells a reference that is not there before anything is measured", async () => {
    const args = ["-m", tinyEn, "--audio", report.file, "--reference", path.join(own, "none.txt")];
    expect(await pergola(["bench", "whisper", ...args])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/none\.txt/),
    });
  });
});
