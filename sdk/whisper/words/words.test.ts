import { describe, expect, it } from "vitest";
import { Tokenizer } from "../../text/tokenizer.js";
import { say, TINY_WHISPER } from "../../testing/whisper-fixture.js";
import { assignWords, type DraftSegment } from "./segment-words.js";
import { clipAtSentences, joinPunctuation, paceOf, timeWords, type TimedWord } from "./word-times.js";
import { splitWords } from "./word-tokens.js";

const tokenizer = await Tokenizer.fromFolder(TINY_WHISPER);
const wordsOf = (text: string, language = "en"): string[] =>
  splitWords(say(text), tokenizer, language).map(({ word }) => word);

/** Words one after the other, each with its length in seconds; the first begins at 0. */
function timed(...words: [word: string, length: number][]): TimedWord[] {
  let start = 0;
  return words.map(([word, length]) => {
    const made = { word, tokens: [1], start, end: start + length, probability: 1 };
    start += length;
    return made;
  });
}

describe("splitWords", () => {
  it("begins words at spaces and at punctuation, as openai/whisper does", () => {
    expect(wordsOf(" It's 5,5, well-known (or not). Yes!")).toEqual([
      ..." It|'s| 5|,5|,| well|-known| |(or| not|)|.| Yes|!".split("|"),
    ]);
  });

  it("keeps characters of several tokens whole", () => {
    const words = splitWords(say(" naïve café 😀"), tokenizer, "fr");
    expect(words.map(({ word }) => word)).toEqual([" naïve", " café", " 😀"]);
    expect(words.flatMap(({ tokens }) => tokens)).toEqual(say(" naïve café 😀"));
  });

  it.each(["zh", "ja", "th", "lo", "my", "yue"])("%s: every character is a word", (language) => {
    expect(wordsOf("你好 吗。", language)).toEqual(["你", "好", " ", "吗", "。"]);
  });

  it("joins them in languages with spaces", () => {
    expect(wordsOf(" 你好", "de")).toEqual([" 你好"]);
  });

  it("gives bytes that are no text their place", () => {
    const half = say("é").slice(0, 1);
    const words = splitWords([...say(" a"), ...half], tokenizer, "en");
    expect(words.flatMap(({ tokens }) => tokens)).toEqual([...say(" a"), ...half]);
    expect(words.at(-1)!.word).toContain("\uFFFD");
    // An invalid byte in between is a group of its own and joins the word.
    expect(splitWords([...say(" a"), ...half, ...say("b c")], tokenizer, "en").map(({ word }) => word)).toEqual([
      " a\uFFFDb",
      " c",
    ]);
  });
});

describe("timeWords", () => {
  it("begins a word with its first token and ends it with the next word's", () => {
    const words = splitWords(say(" ab c"), tokenizer, "en");
    const alignment = {
      starts: Int32Array.of(5, 6, 7, 20, 21, 30),
      probabilities: Float32Array.of(0.25, 0.5, 0.75, 1, 0.5),
    };
    expect(timeWords(words, alignment)).toEqual([
      { word: " ab", tokens: say(" ab"), start: 0.1, end: 0.4, probability: 0.5 },
      { word: " c", tokens: say(" c"), start: 0.4, end: 0.6, probability: 0.75 },
    ]);
  });
});

describe("paceOf", () => {
  it("is the median of words that take time, at most 0.7 s", () => {
    expect(paceOf(timed([" a", 0.2], [" b", 0], [" c", 0.4]))).toEqual({
      median: expect.closeTo(0.3),
      longest: expect.closeTo(0.6),
    });
    expect(paceOf(timed([" a", 3], [" b", 3])).median).toBe(0.7);
    expect(paceOf([])).toEqual({ median: 0, longest: 0 });
  });
});

describe("clipAtSentences", () => {
  it("takes the pause out of the mark, and out of the word after it", () => {
    const words = timed([" One", 0.3], [".", 2], [" Two", 2], [" three", 2], ["?", 0.1]);
    clipAtSentences(words, { median: 0.3, longest: 0.6 });
    expect(words.map(({ start, end }) => [start, end].map((value) => Number(value.toFixed(2))))).toEqual([
      [0, 0.3],
      [0.3, 0.9],
      [3.7, 4.3],
      [4.3, 6.3],
      [6.3, 6.4],
    ]);
  });
});

describe("joinPunctuation", () => {
  it("gives marks to the words they belong to, whose times stay", () => {
    const words = timed(
      [' "', 0.1],
      ["Yes", 0.2],
      [",", 0.1],
      ['"', 0.1],
      [" he", 0.2],
      [" (", 0.1],
      ["so", 0.2],
      [")", 0.1],
      [".", 0.1],
    );
    const joinedWords = joinPunctuation(words);
    expect(joinedWords.map(({ word }) => word)).toEqual([' "Yes,"', " he", " (so)."]);
    expect(joinedWords.map(({ tokens }) => tokens.length)).toEqual([4, 1, 4]);
    expect(joinedWords[0]!.start).toBeCloseTo(0.1);
    expect(joinedWords[0]!.end).toBeCloseTo(0.3);
  });

  it("leaves dashes and percent signs where they are", () => {
    expect(joinPunctuation(timed([" 5", 0.1], ["%", 0.1], [" -", 0.1], ["x", 0.1])).map(({ word }) => word)).toEqual([
      " 5",
      "%",
      " -x",
    ]);
  });

  it("does not join a mark to a word that ends with a space", () => {
    expect(joinPunctuation(timed(["a ", 0.1], [".", 0.1])).map(({ word }) => word)).toEqual(["a ", "."]);
  });
});

describe("assignWords", () => {
  const segment = (start: number, end: number, ids: number): DraftSegment => ({
    start,
    end,
    ids: [1000, ...Array.from({ length: ids }, () => 1), 1001],
    text: "",
  });
  const pace = { median: 0.3, longest: 0.6 };
  const place = { offset: 0, lastSpeech: 0, endOfText: 500 };

  it("hands words to segments by their tokens, and segments take the words' times", () => {
    const segments = [segment(0, 1, 2), segment(1, 2, 1)];
    assignWords(segments, timed([" a", 0.4], [" b", 0.5], [" c", 0.3]), pace, { ...place, offset: 30, lastSpeech: 30 });
    expect(segments.map(({ start, end, words }) => [start, end, words!.map(({ word }) => word).join("")])).toEqual([
      [30, 30.9, " a b"],
      [30.9, 31.2, " c"],
    ]);
  });

  it("cuts a first word that holds a pause to a usual length", () => {
    const segments = [segment(5, 9, 2)];
    assignWords(segments, timed([" Well", 8], [" yes", 0.3]), pace, place);
    expect(segments[0]!.words).toMatchObject([
      { start: 7.4, end: 8 },
      { start: 8, end: 8.3 },
    ]);
    expect(segments[0]).toMatchObject({ start: 7.4, end: 8.3 });
  });

  it("moves the border where the second word is too long as well", () => {
    const segments = [segment(0, 9, 2)];
    assignWords(segments, timed([" Well", 6], [" yes", 2]), pace, place);
    expect(segments[0]!.words![0]).toMatchObject({ start: expect.closeTo(6.8), end: expect.closeTo(7.4) });
    expect(segments[0]!.words![1]).toMatchObject({ start: expect.closeTo(7.4), end: 8 });
  });

  it("believes a segment's start over a word that begins long before it", () => {
    const segments = [segment(2, 4, 2)];
    assignWords(segments, timed([" Well", 2.4], [" yes", 1.6]), pace, { ...place, lastSpeech: 1.5 });
    // 2.4 less than 4 median lengths after the last speech: not clipped, but 2 - 0.5 > 0.
    expect(segments[0]!.words![0]).toMatchObject({ start: 2, end: 2.4 });
    expect(segments[0]!.start).toBe(2);
  });

  it("believes a segment's end over a last word that goes on long after it", () => {
    const segments = [segment(0, 1, 2)];
    assignWords(segments, timed([" well", 0.4], [" yes", 3]), pace, place);
    expect(segments[0]!.words![1]).toMatchObject({ start: 0.4, end: 1 });
    expect(segments[0]!.end).toBe(1);
  });

  it("cuts a last word that begins behind its segment and holds the pause after it", () => {
    const segments = [segment(0, 1, 2)];
    assignWords(segments, timed([" well", 1.2], [" yes", 9]), pace, place);
    expect(segments[0]!.words![1]).toMatchObject({ start: 1.2, end: expect.closeTo(1.8) });
    expect(segments[0]!.end).toBeCloseTo(1.8);
  });

  it("gives a segment without tokens no words", () => {
    const segments = [segment(0, 1, 0), segment(1, 2, 1)];
    assignWords(segments, timed([" a", 0.4]), pace, place);
    expect(segments.map(({ words }) => words!.length)).toEqual([0, 1]);
  });
});
