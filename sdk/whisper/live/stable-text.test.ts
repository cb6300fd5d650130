import { expect, it } from "vitest";
import { Tokenizer } from "../../text/tokenizer.js";
import { say, TINY_WHISPER } from "../../testing/whisper-fixture.js";
import { StableText } from "./stable-text.js";

const tokenizer = await Tokenizer.fromFolder(TINY_WHISPER);

/** Stable text after each decoding. */
function after(texts: string[], language = "en"): string[] {
  const stable = new StableText();
  return texts.map((text) => {
    stable.add(say(text), tokenizer, language);
    return tokenizer.decode(stable.ids, { continuation: true });
  });
}

it("is what two decodings in a row agree on, in whole words", () => {
  expect(after([" And so", " And so my fell", " And so my fellow", " And so my fellow Am"])).toEqual([
    "",
    " And so",
    " And so my",
    " And so my fellow",
  ]);
});

it("never shrinks", () => {
  expect(after([" a b c", " a b c", " a x", " a b c d"])).toEqual(["", " a b c", " a b c", " a b c"]);
});

it("waits for a word that is not complete", () => {
  const half = say("é").slice(0, 1);
  const stable = new StableText();
  for (let round = 0; round < 2; round++) stable.add([...say(" a "), ...half], tokenizer, "en");
  expect(tokenizer.decode(stable.ids, { continuation: true })).toBe(" a");
});

it("goes by characters in languages without spaces", () => {
  expect(after(["你好", "你们好", "你们好吗"], "zh")).toEqual(["", "你", "你们好"]);
});
