import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import { parseSrt, parseVtt, type ParsedCue } from "../../testing/subtitle-parsers.js";
import { formatTranscript, type SubtitleOptions, type WritableTranscript } from "./format-transcript.js";

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What speech is made of, and what files trip over. None begins with a mark that would join the space before it. */
const TOKENS = [
  ..."the river runs past old stone houses and, then. well-known people; said: “yes!” (no?) I'm 1984 3.5 % a".split(
    " ",
  ),
  "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen",
  "https://example.org/a/very/long/address?with=parameters&and=more",
  "今天天气很好，我们一起去公园散步吧！",
  "これはテストです。ｶﾅも「括弧」も",
  "สวัสดีครับวันนี้อากาศดีมาก",
  "안녕하세요, 반갑습니다.",
  "مرحبا بالعالم،",
  "שָׁלוֹם עֲלֵיכֶם",
  "नमस्ते दुनिया।",
  "👨‍👩‍👧‍👦👍🏽🇩🇪🇫🇷",
  "Z\u0351\u036b\u0343\u036a\u0302a\u0300\u0301l\u0323g\u0308o",
  "e\u0301e\u0301",
  "<b>bold</b>",
  "AT&T &amp; R&D",
  "-->",
  "00:00:01,000 --> 00:00:02,000",
  "\n\n2\n",
  "\t",
  "no\u00a0break",
  "\u0000",
];

type Segment = WritableTranscript["segments"][number];

function randomSegment(random: () => number, start: number): Segment {
  const pick = (): string => TOKENS[Math.floor(random() * TOKENS.length)]!;
  const count = Math.floor(random() * random() * 60);
  const duration = random() < 0.1 ? 0 : random() * (random() < 0.2 ? 0.4 : 28);
  const tokens = Array.from({ length: count }, () => ` ${pick()}`);
  const segment: Segment = { start, end: start + duration, text: tokens.join("") };
  if (random() < 0.5) return segment;
  let time = start;
  const words = tokens.map((word) => {
    if (random() < 0.05) time += random() * 4;
    const begin = time;
    time += random() < 0.1 ? 0 : (duration / count) * random() * 1.5;
    return { word, start: begin, end: time, probability: random() };
  });
  return { ...segment, end: Math.max(segment.end, time), words };
}

function randomTranscript(seed: number): WritableTranscript {
  const random = randomNumbers(seed);
  const segments: Segment[] = [];
  let time = random() < 0.1 ? 3590 : 0;
  for (let count = Math.floor(random() * 14); count > 0; count--) {
    if (random() < 0.4) time += random() * 5;
    const next = randomSegment(random, time);
    segments.push(next);
    // Transcripts of other origin may overlap.
    time = random() < 0.05 ? (next.start + next.end) / 2 : next.end;
  }
  return { segments, duration: Math.max(0, ...segments.map(({ end }) => end)) + random() };
}

function randomOptions(seed: number): Required<Omit<SubtitleOptions, "highlightWords">> {
  const random = randomNumbers(seed + 1e6);
  const isDefault = random() < 0.5;
  return {
    maxLineLength: isDefault ? 42 : 10 + Math.floor(random() * 60),
    maxLines: isDefault ? 2 : 1 + Math.floor(random() * 3),
    maxCharactersPerSecond: isDefault ? 17 : 5 + random() * 30,
  };
}

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

/** What readers see as characters, without white space. */
function characters(text: string): string[] {
  // Control characters are written as spaces.
  // eslint-disable-next-line no-control-regex
  return text.split(/[\s\u0000]+/).flatMap((part) => [...segmenter.segment(part)].map(({ segment }) => segment));
}

function shownText(cues: readonly ParsedCue[]): string {
  return cues.flatMap(({ lines }) => lines).join(" ");
}

function assertLayout(cues: readonly ParsedCue[], { maxLineLength, maxLines }: SubtitleOptions): void {
  for (const { lines } of cues) {
    expect(lines.length).toBeLessThanOrEqual(maxLines!);
    for (const line of lines) {
      expect(line).toBe(line.trim());
      // A single character that is wider than a line cannot be helped.
      if (characters(line).length > 1) expect(stringWidth(line)).toBeLessThanOrEqual(maxLineLength!);
    }
  }
}

const SEEDS = Array.from({ length: 100 }, (_, seed) => seed);

describe("random transcripts", { timeout: 60_000 }, () => {
  it("make files that strict readers accept, with every character in its place", () => {
    let cueCount = 0;
    for (const seed of SEEDS) {
      const transcript = randomTranscript(seed);
      const options = randomOptions(seed);
      const sorted = [...transcript.segments].sort((left, right) => left.start - right.start);
      const spoken = characters(sorted.map(({ text }) => text).join(" "));
      const srt = parseSrt(formatTranscript(transcript, "srt", options));
      const vtt = parseVtt(formatTranscript(transcript, "vtt", options));
      expect(characters(shownText(vtt)).join("|"), `seed ${seed}`).toBe(spoken.join("|"));
      expect(characters(shownText(srt)).join(""), `seed ${seed}`).toBe(spoken.join("").replaceAll("-->", "->"));
      assertLayout(srt, options);
      assertLayout(vtt, options);
      expect(srt.map(({ start, end }) => [start, end])).toEqual(vtt.map(({ start, end }) => [start, end]));
      cueCount += vtt.length;
    }
    expect(cueCount).toBeGreaterThan(1000);
  });

  it("mark every word once, in order, at its time", () => {
    let markCount = 0;
    for (const seed of SEEDS) {
      const { segments, duration } = randomTranscript(seed);
      const withWords = segments.filter(({ words }) => words !== undefined);
      const cues = parseVtt(formatTranscript({ segments: withWords, duration }, "vtt", { highlightWords: true }));
      const words = withWords.flatMap((segment) => segment.words!);
      const spans = cues.flatMap((cue) => cue.spans);
      const spoken = characters(words.map(({ word }) => word).join(" "));
      expect(characters(spans.join(" ")).join("|"), `seed ${seed}`).toBe(spoken.join("|"));
      const starts = new Set(words.map(({ start }) => Math.round(start * 1000)));
      for (const time of cues.flatMap((cue) => cue.times)) {
        markCount++;
        // A word that begins before the one in front of it has ended begins at that end.
        const ends = words.map(({ end }) => Math.round(end * 1000));
        expect(starts.has(time) || ends.includes(time), `seed ${seed}, ${time}`).toBe(true);
      }
    }
    expect(markCount).toBeGreaterThan(1000);
  });

  it("keep the times of segments to the millisecond where each has time to be read", () => {
    for (const seed of SEEDS) {
      const random = randomNumbers(seed);
      let time = 0;
      const segments = Array.from({ length: 20 }, (_, index) => {
        const start = time + random() * 3;
        time = start + 1 + random() * 4;
        return { start, end: time, text: `cue ${index}` };
      });
      const cues = parseSrt(formatTranscript({ segments }, "srt"));
      const rounded = segments.map(({ start, end }) => [Math.round(start * 1000), Math.round(end * 1000)]);
      expect(cues.map(({ start, end }) => [start, end])).toEqual(rounded);
    }
  });

  it("are shown long enough to be read, or until the next cue", () => {
    for (const seed of SEEDS) {
      const transcript = randomTranscript(seed);
      const cues = parseVtt(formatTranscript(transcript, "vtt"));
      for (const [index, { start, end, lines }] of cues.entries()) {
        const wanted = (lines.reduce((sum, line) => sum + stringWidth(line), 0) / 17) * 1000;
        const limit = cues[index + 1]?.start ?? transcript.duration! * 1000;
        expect(end >= Math.min(start + wanted, limit) - 1, `seed ${seed}, cue ${index}`).toBe(true);
      }
    }
  });
});
