import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { UsageError } from "./exit-codes.js";
import {
  addGenerationFlags,
  addLoadFlags,
  flagOf,
  parseCount,
  parseNumber,
  toGenerationOptions,
  toLoadOptions,
  type GenerationFlags,
  type LoadFlags,
} from "./flags.js";

function parse(args: string[]): LoadFlags & GenerationFlags {
  const command = addGenerationFlags(addLoadFlags(new Command("x"), ""))
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  return command.parse(["--model", "m", ...args], { from: "user" }).opts();
}

describe("load flags", () => {
  it("leave everything to the SDK when not given", () => expect(toLoadOptions(parse([]))).toEqual({}));

  it("become load options", () => {
    const args = ["-d", "AUTO", "--weights", "int8", "--attention", "paged", "--kv-cache-precision", "u8"];
    const more = [
      "--kv-cache-tokens",
      "4096",
      "--no-cache",
      "--no-warm-up",
      "--property",
      "A=1",
      "--property",
      "B=x=y",
    ];
    expect(toLoadOptions(parse([...args, ...more]))).toEqual({
      device: "AUTO",
      weights: "int8",
      attention: "paged",
      kvCache: { precision: "u8", tokens: 4096 },
      cache: false,
      warmUp: false,
      properties: { A: "1", B: "x=y" },
    });
  });

  it.each(["novalue", "=x"])("refuse --property %s", (pair) => {
    expect(() => toLoadOptions(parse(["--property", pair]))).toThrow(UsageError);
  });

  it("refuse values outside a list", () =>
    expect(() => parse(["--weights", "int3"])).toThrow(/Allowed choices are file, f16, int8, int4/));
});

describe("generation flags", () => {
  it("leave everything to the SDK when not given", () => expect(toGenerationOptions(parse([]))).toEqual({}));

  it("become generation options", () => {
    const args = ["-n", "10", "-t", "0.5", "--top-p", "0.9", "--top-k", "40", "--min-p", "0.1"];
    const more = ["--repetition-penalty", "1.1", "--seed", "7", "--stop", "a", "--stop", "b"];
    expect(toGenerationOptions(parse([...args, ...more]))).toEqual({
      ...{ maxNewTokens: 10, temperature: 0.5, topP: 0.9, topK: 40, minP: 0.1 },
      ...{ repetitionPenalty: 1.1, seed: 7, stop: ["a", "b"] },
    });
  });

  it("keep a zero", () =>
    expect(toGenerationOptions(parse(["-t", "0", "--seed", "0"]))).toEqual({ temperature: 0, seed: 0 }));
});

describe("numbers", () => {
  it.each(["", " ", "abc", "1e999", "NaN", "1,5"])("refuse %j", (text) =>
    expect(() => parseNumber(text)).toThrow(/must be a number/),
  );
  it.each(["0", "-1", "1.5"])("a count refuses %j", (text) => expect(() => parseCount(text)).toThrow(/at least 1/));
});

it("finds the flag of an option path", () => {
  expect(flagOf("stop[0]")).toBe("--stop");
  expect(flagOf("kvCache.bytes")).toBe("--kv-cache-bytes");
  expect(flagOf("messages")).toBeUndefined();
});
