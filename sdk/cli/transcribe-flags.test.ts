import { Command } from "commander";
import { describe, expect, it } from "vitest";
import {
  addWhisperFlags,
  parseNumbers,
  parseRange,
  toWhisperLoadOptions,
  toWhisperOptions,
  type WhisperFlags,
} from "./transcribe-flags.js";

function parse(args: string[]): WhisperFlags {
  const command = addWhisperFlags(new Command("x"))
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  return command.parse(["--model", "m", ...args], { from: "user" }).opts();
}

it("flags that are not given leave everything to the SDK", () => {
  const flags = parse([]);
  expect(toWhisperLoadOptions(flags)).toEqual({});
  expect(toWhisperOptions(flags)).toEqual({});
});

it("flags become options", () => {
  const flags = parse([
    ...["-d", "AUTO", "--weights", "int8", "--no-cache", "-l", "de", "--task", "translate", "--timestamps", "word"],
    ...[
      "--mode",
      "batched",
      "--batch-size",
      "4",
      "--beam-size",
      "5",
      "-t",
      "0,0.4",
      "-p",
      "Ada Lovelace",
      "--hotwords",
      "loom",
    ],
    ...["--range", "1:30-2:00.5"],
  ]);
  expect(toWhisperLoadOptions(flags)).toEqual({ device: "AUTO", weights: "int8", cache: false });
  expect(toWhisperOptions(flags)).toEqual({
    ...{ language: "de", task: "translate", timestamps: "word", mode: "batched", batchSize: 4, beamSize: 5 },
    ...{ temperature: [0, 0.4], prompt: "Ada Lovelace", hotwords: "loom", range: [90, 120.5] },
  });
});

it.each([
  ["0", 0],
  ["0.2", 0.2],
  ["0,0.5,1", [0, 0.5, 1]],
])("temperature %s", (text, expected) => expect(parseNumbers(text)).toEqual(expected));
it.each(["", "0,", "warm"])("temperature %j is refused", (text) =>
  expect(() => parseNumbers(text)).toThrow(/must be a number/),
);

describe("a range", () => {
  it.each([
    ["90-120", [90, 120]],
    ["0.5-2.25", [0.5, 2.25]],
    ["1:30-2:00", [90, 120]],
    ["1:02:03-1:02:04.5", [3723, 3724.5]],
    ["90-", [90]],
    [" 1 - 2 ", [1, 2]],
  ])("%j", (text, expected) => expect(parseRange(text)).toEqual(expected));

  it.each(["", "-", "90", "-90", "a-b", "1-2-3", "1:-2", "1e3-2e3"])("%j is refused", (text) =>
    expect(() => parseRange(text)).toThrow(/such as 90-120/),
  );
});
