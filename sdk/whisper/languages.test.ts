import { describe, expect, it } from "vitest";
import { OptionError } from "../core/errors.js";
import { languageCode, languageName } from "./languages.js";

const CODES = ["en", "de", "fr", "pt", "zh", "jw", "he", "my", "nn", "no", "haw", "yue", "mi", "tl", "ht", "bn"];
const KNOWN = new Map(CODES.map((code, index) => [code, 100 + index]));

describe("multilingual models", () => {
  it.each([
    ["en", "en"],
    ["EN", "en"],
    ["<|en|>", "en"],
    ["english", "en"],
    ["English", "en"],
    [" German ", "de"],
    ["pt-BR", "pt"],
    ["zh_CN", "zh"],
    ["<|yue|>", "yue"],
    ["Cantonese", "yue"],
    ["mandarin", "zh"],
    ["iw", "he"],
    ["javanese", "jw"],
    ["Burmese", "my"],
    ["myanmar", "my"],
    ["nynorsk", "nn"],
    ["nb-NO", "no"],
    ["Māori", "mi"],
    ["maori", "mi"],
    ["tagalog", "tl"],
    ["haitian creole", "ht"],
    ["bengali", "bn"],
  ])("%s is %s", (given, code) => {
    expect(languageCode(given, KNOWN)).toBe(code);
  });

  it.each(["xx", "", " ", "<||>", "klingon", "<|transcribe|>", "constructor"])("refuses %j with the list", (given) => {
    const error = caught(() => languageCode(given, KNOWN));
    expect(error).toMatchObject({ path: "language", received: given });
    expect(error.message).toContain("bn, de, en, fr, haw");
  });

  it("suggests the language that was meant", () => {
    expect(caught(() => languageCode("germann", KNOWN))).toMatchObject({ suggestion: "de" });
    expect(caught(() => languageCode("frensh", KNOWN)).message).toContain('Did you mean "fr" (French)?');
  });
});

describe("English-only models", () => {
  it.each(["en", "EN", "english", "<|en|>", "en-US"])("take %s", (given) => {
    expect(languageCode(given, new Map())).toBe("en");
  });

  it.each(["de", "german", "xx", ""])("refuse %j", (given) => {
    expect(caught(() => languageCode(given, new Map())).message).toMatch(/knows only English/);
  });
});

it("names languages", () => {
  expect(languageName("de")).toBe("German");
});

function caught(work: () => unknown): OptionError {
  try {
    work();
  } catch (error) {
    if (OptionError.isInstance(error)) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}
