import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  MediaError,
  OptionError,
  PipelineStream,
  type Transcript,
  type TranscriptSegment,
  type WhisperOptions,
} from "../index.js";
import { collectingTerminal, type CollectingTerminal } from "../testing/collecting-terminal.js";
import { Interrupted, UsageError } from "./exit-codes.js";
import { Interrupts } from "./interrupts.js";
import { transcribeFiles, type SegmentStream, type Transcriber } from "./transcribe-files.js";
import { planOutput, type OutputFlags } from "./transcribe-output.js";

function transcript(...texts: string[]): Transcript {
  const segments = texts.map((text, index) => ({
    ...{ start: index * 2, end: index * 2 + 2, text: ` ${text}`, tokens: [index], temperature: 0 },
    ...{ avgLogprob: -0.1, compressionRatio: 1, noSpeechProb: 0 },
  }));
  const stages = { tokenize: 0, preprocess: 1, encode: 2, prefill: 3, decode: 4, detokenize: 0 };
  const metrics = {
    ...{ loadMs: 1, ttftMs: 2, tpotMs: 3, tokensPerSecond: 4, durationMs: 5, queueMs: 0, stages },
    ...{ realTimeFactor: 0.1, windows: 1, fallbacks: 0 },
  };
  const text = texts.join(" ");
  return {
    ...{ text, language: "en", languageProbability: 1, duration: texts.length * 2 },
    ...{ segments, finishReason: "stop", metrics },
  };
}

/** Gives each file its transcript, or its error. */
class ScriptedTranscriber implements Transcriber {
  readonly calls: { audio: unknown; options: WhisperOptions }[] = [];
  /** Called before each segment of a file. */
  beforeSegment: (index: number) => Promise<void> | void = () => undefined;

  constructor(private readonly script: Record<string, Transcript | Error>) {}

  stream(audio: string | NodeJS.ReadableStream, options: WhisperOptions): SegmentStream {
    this.calls.push({ audio, options });
    const outcome = this.script[typeof audio === "string" ? audio : "-"]!;
    return PipelineStream.start<TranscriptSegment, Transcript>(async (control) => {
      if (outcome instanceof Error) throw outcome;
      const came: TranscriptSegment[] = [];
      for (const [index, segment] of outcome.segments.entries()) {
        await setImmediate();
        await this.beforeSegment(index);
        if (control.ending) break;
        came.push(segment);
        control.push(segment);
      }
      return { ...outcome, segments: came };
    });
  }
}

let folder: string;
let terminal: CollectingTerminal;
let interrupts: Interrupts;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "pergola-transcribe-"));
  terminal = collectingTerminal();
  interrupts = new Interrupts();
});
afterEach(async () => {
  interrupts.close();
  await rm(folder, { recursive: true, force: true });
});

async function run(
  script: Record<string, Transcript | Error>,
  flags: OutputFlags = {},
  prepare: (whisper: ScriptedTranscriber) => void = () => undefined,
): Promise<number> {
  const inputs = Object.keys(script);
  const whisper = new ScriptedTranscriber(script);
  prepare(whisper);
  const output = await planOutput(inputs, flags, terminal);
  return transcribeFiles(inputs, { whisper, options: { language: "en" }, output, terminal, interrupts });
}

const inFolder = (name: string): string => path.join(folder, name);

describe("text", () => {
  it("comes segment by segment", async () => {
    const seen: string[] = [];
    const failures = await run({ "a.wav": transcript("One.", "Two.") }, {}, (whisper) => {
      whisper.beforeSegment = () => void seen.push(terminal.printed());
    });
    expect(failures).toBe(0);
    expect(seen).toEqual(["", "One.\n"]);
    expect(terminal.printed()).toBe("One.\nTwo.\n");
    expect(terminal.reported()).toBe("");
  });

  it("of several files stands under their names", async () => {
    await run({ "a.wav": transcript("One."), "b.wav": transcript("Two.") });
    expect(terminal.printed()).toBe("==> a.wav <==\nOne.\n\n==> b.wav <==\nTwo.\n");
  });

  it("of stdin is read from stdin, with the options given", async () => {
    const scripted: ScriptedTranscriber[] = [];
    await run({ "-": transcript("One.") }, {}, (whisper) => void scripted.push(whisper));
    expect(scripted[0]!.calls).toMatchObject([{ audio: terminal.input, options: { language: "en" } }]);
  });
});

describe("json", () => {
  it("is exactly the result", async () => {
    await run({ "a.wav": transcript("One.") }, { json: true });
    expect(JSON.parse(terminal.printed())).toEqual(transcript("One."));
  });

  it("of several files is an array in their order, with null for what failed", async () => {
    const failures = await run(
      { "a.wav": transcript("One."), "b.wav": new MediaError("b.wav is broken."), "c.wav": transcript("Three.") },
      { json: true },
    );
    expect(failures).toBe(1);
    expect(JSON.parse(terminal.printed())).toEqual([transcript("One."), null, transcript("Three.")]);
  });

  it("of one file that failed is nothing", async () => {
    expect(await run({ "a.wav": new MediaError("a.wav is broken.") }, { json: true })).toBe(1);
    expect(terminal.printed()).toBe("");
  });
});

describe("files", () => {
  it("get the format of their ending", async () => {
    await run({ "a.wav": transcript("One.") }, { out: inFolder("a.srt") });
    expect(await readFile(inFolder("a.srt"), "utf8")).toBe("1\n00:00:00,000 --> 00:00:02,000\nOne.\n");
    expect(await readdir(folder)).toEqual(["a.srt"]);
    expect(terminal.printed()).toBe("");
  });

  it("go into a folder, which is made", async () => {
    await run(
      { "x/a.wav": transcript("One."), "x/b.mp3": new MediaError("bad"), "-": transcript("Three.") },
      { out: inFolder("new/deep"), format: "vtt" },
    );
    expect(await readdir(inFolder("new/deep"))).toEqual(["a.vtt", "stdin.vtt"]);
    expect(await readFile(inFolder("new/deep/a.vtt"), "utf8")).toMatch(
      /^WEBVTT\n\n00:00\.000 --> 00:02\.000\nOne\.\n$/,
    );
  });

  it("leave nothing behind where they cannot be written", async () => {
    await mkdir(inFolder("a.txt"));
    await mkdir(inFolder("a.txt/a.txt"));
    expect(await run({ "a.wav": transcript("One."), "b.wav": transcript("Two.") }, { out: inFolder("a.txt") })).toBe(1);
    expect((await readdir(inFolder("a.txt"))).sort()).toEqual(["a.txt", "b.txt"]);
    expect(terminal.reported()).toMatch(/^error: .*a\.wav.*\n$/);
  });
});

describe("errors", () => {
  it("name the file, and the next one follows", async () => {
    const failures = await run({
      "a.wav": new MediaError("This is not audio."),
      "b.wav": new MediaError("b.wav holds video."),
      "c.wav": transcript("Three."),
    });
    expect(failures).toBe(2);
    expect(terminal.reported()).toBe("error: a.wav: This is not audio.\nerror: b.wav holds video.\n");
    expect(terminal.printed()).toContain("==> c.wav <==\nThree.\n");
  });

  it("about options end everything", async () => {
    const error = new OptionError("language must be …", { path: "language", expected: "en", received: "xx" });
    await expect(run({ "a.wav": error, "b.wav": transcript("Two.") })).rejects.toBe(error);
    expect(terminal.printed()).not.toContain("Two.");
  });

  it("nobody foresaw end everything", async () => {
    await expect(run({ "a.wav": new TypeError("a mistake") })).rejects.toThrow(TypeError);
  });
});

describe("Ctrl-C", () => {
  const interruptAt = (place: number) => (whisper: ScriptedTranscriber) => {
    whisper.beforeSegment = (index) => {
      if (index === place) process.emit("SIGINT");
    };
  };

  it("keeps what came and leaves out the rest", async () => {
    const script = { "a.wav": transcript("One.", "Two.", "Three."), "b.wav": transcript("Four.") };
    await expect(run(script, {}, interruptAt(1))).rejects.toThrow(Interrupted);
    expect(terminal.printed()).toBe("==> a.wav <==\nOne.\n");
  });

  it("writes what came", async () => {
    const script = { "a.wav": transcript("One.", "Two.", "Three.") };
    await expect(run(script, { out: inFolder("a.json") }, interruptAt(2))).rejects.toThrow(Interrupted);
    const written = JSON.parse(await readFile(inFolder("a.json"), "utf8")) as Transcript;
    expect(written.segments.map(({ text }) => text)).toEqual([" One.", " Two."]);
  });

  it("leaves an existing file as it is: nothing, or what came beside it", async () => {
    await writeFile(inFolder("a.srt"), "good\n");
    const script = { "a.wav": transcript("One.", "Two.") };
    await expect(run(script, { out: inFolder("a.srt") }, interruptAt(0))).rejects.toThrow(Interrupted);
    expect(await readdir(folder)).toEqual(["a.srt"]);
    interrupts.reset();
    await expect(run(script, { out: inFolder("a.srt") }, interruptAt(1))).rejects.toThrow(Interrupted);
    expect(await readFile(inFolder("a.srt"), "utf8")).toBe("good\n");
    expect(await readFile(inFolder("a.partial.srt"), "utf8")).toContain("One.");
    expect(terminal.reported()).toContain("a.srt is as it was; what came is in");
    interrupts.reset();
    await run(script, { out: inFolder("a.srt") });
    expect(await readFile(inFolder("a.srt"), "utf8")).toContain("Two.");
  });
});

describe("a file's ending", () => {
  it("that tells no format is refused with those that do", async () => {
    const plan = (flags: OutputFlags): Promise<unknown> => planOutput(["a"], flags, terminal);
    await expect(plan({ out: inFolder("a.ass") })).rejects.toThrow(/"\.ass" tells no format; there are \.txt, \.srt/);
    await expect(plan({ out: inFolder("a.ass") })).rejects.toThrow(UsageError);
    await expect(plan({ out: inFolder("a.ass"), format: "srt" })).resolves.toBeDefined();
    await expect(plan({ out: inFolder("notes") })).resolves.toBeDefined();
  });

  it("may be in capitals", async () => {
    await run({ "a.wav": transcript("One.") }, { out: inFolder("A.SRT") });
    expect(await readFile(inFolder("A.SRT"), "utf8")).toContain("-->");
  });
});

describe("flags that do not fit together", () => {
  it.each<[string, string[], OutputFlags, RegExp]>([
    ["--json and another format", ["a"], { json: true, format: "srt" }, /exclude each other/],
    ["--json and a file", ["a"], { json: true, out: "x.json" }, /with --out use --format json/],
    ["subtitles of several files on stdout", ["a", "b"], { format: "srt" }, /add --out FOLDER/],
    [
      "two files of one name",
      ["x/a.wav", "y/a.mp3"],
      { out: "never-made/" },
      /never-made.a\.txt; transcribe them apart/,
    ],
  ])("%s are a usage error", async (_, inputs, flags, message) => {
    const plan = planOutput(inputs, flags, terminal);
    await expect(plan).rejects.toThrow(UsageError);
    await expect(plan).rejects.toThrow(message);
  });

  it("several files for one file are a usage error", async () => {
    await writeFile(inFolder("one.txt"), "");
    await expect(planOutput(["a", "b"], { out: inFolder("one.txt") }, terminal)).rejects.toThrow(
      /several files need a folder/,
    );
  });

  it("layout that the format does not have is told before the work", async () => {
    await expect(planOutput(["a"], { maxLines: 1 }, terminal)).rejects.toThrow(/maxLines/);
    await expect(planOutput(["a"], { format: "srt", highlightWords: true }, terminal)).rejects.toThrow(
      /highlightWords/,
    );
  });
});
