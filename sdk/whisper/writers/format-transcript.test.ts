import { describe, expect, it } from "vitest";
import { OptionError } from "../../core/errors.js";
import { parseSrt, parseVtt } from "../../testing/subtitle-parsers.js";
import { formatTranscript, type SubtitleOptions, type WritableTranscript } from "./format-transcript.js";

const segment = (start: number, end: number, text: string): WritableTranscript["segments"][number] => ({
  start,
  end,
  text,
});

/** A segment of words `[word, start, end]`. */
function spoken(...words: [string, number, number][]): WritableTranscript["segments"][number] {
  return {
    start: words[0]![1],
    end: words.at(-1)![2],
    text: words.map(([word]) => word).join(""),
    words: words.map(([word, start, end]) => ({ word, start, end, probability: 1 })),
  };
}

const two: WritableTranscript = {
  duration: 3725,
  segments: [segment(0, 2.5, " Hello there."), segment(3722.004, 3724.9996, " Good\n bye,  then. ")],
};

describe("the formats", () => {
  it("txt: a line a segment", () => {
    expect(formatTranscript(two, "txt")).toBe("Hello there.\nGood bye, then.\n");
  });

  it("srt: numbers, commas, hours", () => {
    expect(formatTranscript(two, "srt")).toBe(
      "1\n00:00:00,000 --> 00:00:02,500\nHello there.\n\n2\n01:02:02,004 --> 01:02:05,000\nGood bye, then.\n",
    );
  });

  it("vtt: header, full stops, hours where there are any", () => {
    expect(formatTranscript(two, "vtt")).toBe(
      "WEBVTT\n\n00:00.000 --> 00:02.500\nHello there.\n\n01:02:02.004 --> 01:02:05.000\nGood bye, then.\n",
    );
  });

  it("json: exactly the object", () => {
    expect(JSON.parse(formatTranscript({ ...two, language: "en" } as WritableTranscript, "json"))).toEqual({
      ...two,
      language: "en",
    });
  });

  it("of nothing are empty, but valid", () => {
    for (const segments of [[], [segment(0, 5, " \n")]]) {
      expect(formatTranscript({ segments }, "txt")).toBe("");
      expect(parseSrt(formatTranscript({ segments }, "srt"))).toEqual([]);
      expect(parseVtt(formatTranscript({ segments }, "vtt", { highlightWords: segments.length === 0 }))).toEqual([]);
    }
  });

  it("escape what would be markup", () => {
    const text = "if a < b && b > c --> <b>done</b> &amp;";
    const [cue] = parseVtt(formatTranscript({ segments: [segment(0, 4, text)] }, "vtt"));
    expect(cue!.lines.join(" ")).toBe(text);
    const srt = formatTranscript({ segments: [segment(0, 4, text)] }, "srt");
    expect(parseSrt(srt)[0]!.lines.join(" ")).toBe("if a < b && b > c -> <b>done</b> &amp;");
  });

  it("write hours of more than two digits", () => {
    const segments = [segment(360_000.5, 360_003, "late")];
    expect(parseSrt(formatTranscript({ segments }, "srt"))).toMatchObject([{ start: 360_000_500, end: 360_003_000 }]);
    expect(parseVtt(formatTranscript({ segments }, "vtt"))).toMatchObject([{ start: 360_000_500, end: 360_003_000 }]);
  });
});

describe("cues", () => {
  const cuesOf = (segments: WritableTranscript["segments"], options?: SubtitleOptions, duration?: number) =>
    parseSrt(formatTranscript({ segments, duration }, "srt", options)).map(({ start, end, lines }) => [
      start,
      end,
      ...lines,
    ]);

  it("end at sentences, and lines after punctuation, of about the same length", () => {
    const text =
      "And so, my fellow Americans: ask not what your country can do for you. Ask what you can do for your country.";
    expect(cuesOf([segment(0, 10.8, text)])).toEqual([
      [0, 7000, "And so, my fellow Americans:", "ask not what your country can do for you."],
      // The text's 71st of 108 characters.
      [7100, 10800, "Ask what you can do for your country."],
    ]);
  });

  it("take the times of words", () => {
    const words = spoken(
      [" One", 1, 1.4],
      [" two,", 1.4, 2],
      [" three.", 2.2, 3.1],
      [" Four", 9, 9.5],
      [" five.", 9.5, 11.25],
    );
    expect(cuesOf([words])).toEqual([
      [1000, 3100, "One two, three."],
      [9000, 11250, "Four five."],
    ]);
  });

  it("use the segment's own times where words do not make up its text", () => {
    const words = { ...spoken([" One", 1, 1.4], [" two", 1.5, 2]), text: " One, two, three", end: 4 };
    expect(cuesOf([words])).toEqual([[1000, 4000, "One, two, three"]]);
  });

  it("stay until they can be read, if the next one leaves time", () => {
    const text = "Thirty four columns take two seconds";
    const wanted = Math.ceil((text.length / 17) * 1000);
    expect(cuesOf([segment(1, 1.5, text), segment(8, 9, "x")], {}, 30)).toEqual([
      [1000, 1000 + wanted, text],
      [8000, 9000, "x"],
    ]);
    expect(cuesOf([segment(1, 1.5, text), segment(2, 3, "x")], {}, 30)[0]).toEqual([1000, 2000, text]);
    expect(cuesOf([segment(1, 1.5, text)], {}, 2.25)).toEqual([[1000, 2250, text]]);
    expect(cuesOf([segment(1, 1.5, text)], { maxCharactersPerSecond: 36 }, 30)).toEqual([[1000, 2000, text]]);
  });

  it("share the time where segments have none of their own", () => {
    expect(cuesOf([segment(5, 5, "aaaa"), segment(5, 5, "bbbb"), segment(5, 8, "cccccccc")])).toEqual([
      [5000, 5750, "aaaa"],
      [5750, 6500, "bbbb"],
      [6500, 8000, "cccccccc"],
    ]);
    expect(cuesOf([segment(2, 8, "cccccccc"), segment(8, 8, "bbbb")])).toEqual([
      [2000, 6000, "cccccccc"],
      [6000, 8000, "bbbb"],
    ]);
    const atOnce = cuesOf([segment(1, 1, "a"), segment(1, 1, "b"), segment(1, 1, "c")]);
    expect(atOnce.map(([start]) => start)).toEqual([1000, 1001, 1002]);
  });

  it("keep to lines of Chinese without spaces, and punctuation out of their beginnings", () => {
    const text = "今天天气很好，我们一起去公园散步吧！明天可能会下雨，所以我们最好今天就去（如果你有时间的话）。";
    const cues = cuesOf([segment(0, 12, text)], { maxLineLength: 20 });
    const lines = cues.flatMap((cue) => cue.slice(2)) as string[];
    expect(lines.join("")).toBe(text);
    for (const line of lines) {
      expect(line.length).toBeLessThanOrEqual(10);
      expect(line).not.toMatch(/^[，。！）]|（$/);
    }
    expect(lines).toContain("一起去公园散步吧！");
  });

  it("leave text from right to left as it is", () => {
    const text = "مرحبا بالعالم، هذا اختبار قصير";
    expect(cuesOf([segment(0, 3, text)])).toEqual([[0, 3000, text]]);
  });

  it("cut words that are longer than a line between characters as readers see them", () => {
    const family = "👨‍👩‍👧‍👦";
    const accented = "e\u0301\u0323";
    for (const character of [family, accented, "🇩🇪", "नि"]) {
      const cues = cuesOf([segment(0, 60, character.repeat(50))], { maxLineLength: 11 });
      const lines = cues.flatMap((cue) => cue.slice(2)) as string[];
      expect(lines.join("")).toBe(character.repeat(50));
      for (const line of lines) expect(line.replaceAll(character, "")).toBe("");
    }
  });
});

describe("highlighted words", () => {
  const words = spoken([" Tom", 1, 1.5], [" &", 1.5, 1.5], [" Jerry,", 1.75, 2.5], [" go!", 2.5, 3.5]);

  it("carry their times", () => {
    const vtt = formatTranscript({ segments: [words] }, "vtt", { highlightWords: true });
    expect(vtt).toBe(
      "WEBVTT\n\n00:01.000 --> 00:03.500\n" +
        "<c>Tom</c> <00:01.500><c>&amp;</c> <00:01.750><c>Jerry,</c> <00:02.500><c>go!</c>\n",
    );
    expect(parseVtt(vtt)).toMatchObject([{ times: [1500, 1750, 2500], spans: ["Tom", "&", "Jerry,", "go!"] }]);
  });
});

describe("wrong use", () => {
  it.each<[string, unknown, unknown, unknown, string, RegExp]>([
    ["no transcript", undefined, "srt", {}, "transcript", /transcript must be/],
    ["no segments", {}, "srt", {}, "transcript.segments", /transcript\.segments must be/],
    [
      "an end that is no number",
      { segments: [{ ...segment(0, 1, "x"), end: null }] },
      "vtt",
      {},
      "transcript.segments[0].end",
      /null/,
    ],
    [
      "a time before the beginning",
      { segments: [segment(-1, 1, "x")] },
      "vtt",
      {},
      "transcript.segments[0].start",
      /-1/,
    ],
    ["an unknown format", two, "ass", {}, "format", /txt, srt, vtt, json/],
    ["an unknown option", two, "srt", { maxLinelength: 40 }, "maxLinelength", /Did you mean "maxLineLength"/],
    ["lines that are too short", two, "srt", { maxLineLength: 4 }, "maxLineLength", /from 10 to 200, received 4/],
    ["layout of text", two, "txt", { maxLines: 1 }, "maxLines", /txt does not take it/],
    ["highlighting in srt", two, "srt", { highlightWords: true }, "highlightWords", /format vtt/],
    ["highlighting without words", two, "vtt", { highlightWords: true }, "highlightWords", /timestamps: "word"/],
  ])("%s is an OptionError", (_, transcript, format, options, path, message) => {
    const write = (): string =>
      formatTranscript(transcript as WritableTranscript, format as "srt", options as SubtitleOptions);
    expect(write).toThrow(OptionError);
    expect(write).toThrow(expect.objectContaining({ path, message: expect.stringMatching(message) }));
  });
});
