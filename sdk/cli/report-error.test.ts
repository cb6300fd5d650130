import { CommanderError } from "commander";
import { describe, expect, it } from "vitest";
import { ModelError, NativeError, OptionError } from "../index.js";
import { Interrupted, UsageError } from "./exit-codes.js";
import { describeError } from "./report-error.js";

const optionError = new OptionError("maxNewTokens must be a whole number, received 1.5.", {
  path: "maxNewTokens",
  expected: "a whole number",
  received: 1.5,
});

describe("describeError", () => {
  it.each([
    ["an option of the SDK", optionError, "error: --max-new-tokens must be a whole number, received 1.5.", 2],
    ["wrong use", new UsageError("no prompt"), "error: no prompt", 2],
    ["a model", new ModelError("no model at x", { file: "x" }), "error: no model at x", 1],
    ["the native core", new NativeError("not found\n  tried a"), "error: not found\n  tried a", 1],
    ["Ctrl-C", new Interrupted("x"), undefined, 130],
    ["commander's help", new CommanderError(0, "commander.helpDisplayed", ""), undefined, 0],
    ["commander's complaint", new CommanderError(1, "commander.unknownOption", ""), undefined, 2],
  ])("%s: one message and an exit code", (_, error, text, exitCode) => {
    expect(describeError(error, false)).toEqual({ text, exitCode });
  });

  it("prints the message of a system error without a stack", () => {
    const error = Object.assign(new Error("ENOENT: no such file"), { syscall: "open", code: "ENOENT" });
    expect(describeError(error, false)).toEqual({ text: "error: ENOENT: no such file", exitCode: 1 });
  });

  it("prints the stack of what nobody foresaw, and of everything when debugging", () => {
    expect(describeError(new TypeError("x is not a function"), false).text).toMatch(
      /TypeError: x is not a function\n +at /,
    );
    expect(describeError(new ModelError("no model", { file: "x" }), true).text).toMatch(/\n +at /);
  });
});
