import { describe, expect, it } from "vitest";
import { normalizedWords, wordErrors } from "./word-error-rate.js";

it("words are what is between spaces and punctuation, in lower case", () => {
  expect(normalizedWords("“I'm well-known,” he said: İ 3.5 %… ＡＢＣ Straße")).toEqual(
    ["im", "well", "known", "he", "said", "i̇", "3", "5", "abc", "straße"], // cspell:disable-line
  );
});

it("characters are words in scripts without spaces", () => {
  expect(normalizedWords("砸自己的脚, GPT模型")).toEqual(["砸", "自", "己", "的", "脚", "gpt", "模", "型"]);
});

describe("the word error rate", () => {
  it.each([
    ["the same", "Ask not, what your country!", "ask not what your country", 0, 5],
    ["a word replaced", "four of clubs", "four of close", 1, 3],
    ["a word left out", "four of clubs", "four clubs", 1, 3],
    ["a word added", "four of clubs", "four of the clubs", 1, 3],
    ["one word heard as two", "he was ill-disposed then", "he was illdisposed then", 2, 5],
    ["everything missing", "one two three four", "", 4, 4],
    ["the order changed", "a b c d", "b a c d", 2, 4],
  ])("counts %s", (_, reference, transcript, errors, words) => {
    expect(wordErrors(reference, transcript)).toEqual({ errors, words, rate: errors / words });
  });

  it("of nothing against nothing is 0", () => {
    expect(wordErrors("", " … ")).toEqual({ errors: 0, words: 0, rate: 0 });
    expect(wordErrors("", "word").rate).toBe(Infinity);
  });

  it("holds for texts of many different words", () => {
    const words = Array.from({ length: 20_000 }, (_, index) => `word${index}`);
    const heard = words.map((word, index) => (index % 100 === 0 ? "other" : word));
    expect(wordErrors(words.join(" "), heard.join(" "))).toEqual({ errors: 200, words: 20_000, rate: 0.01 });
  });
});
