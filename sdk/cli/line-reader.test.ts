import { PassThrough } from "node:stream";
import { beforeEach, describe, expect, it } from "vitest";
import { LineReader } from "./line-reader.js";
import type { Terminal } from "./terminal.js";

let keyboard: PassThrough;
let lines: LineReader;
beforeEach(() => {
  keyboard = new PassThrough();
  const screen = new PassThrough();
  screen.resume();
  lines = new LineReader({ input: keyboard, output: screen, errors: screen } as unknown as Terminal);
});

/** What the user does after the prompt has come. */
function type(text: string): void {
  setImmediate(() => keyboard.write(text));
}

describe("LineReader", () => {
  it("reads a line", async () => {
    type("hello\r");
    expect(await lines.read("> ")).toEqual({ kind: "line", text: "hello" });
  });

  it("serves the lines of a paste one after the other", async () => {
    type("one\rtwo\rthree\r");
    expect(await lines.read("> ")).toEqual({ kind: "line", text: "one" });
    expect(await lines.read("> ")).toEqual({ kind: "line", text: "two" });
    expect(await lines.read("> ")).toEqual({ kind: "line", text: "three" });
  });

  it("keeps what was typed ahead without Enter", async () => {
    type("one\rtw");
    expect(await lines.read("> ")).toEqual({ kind: "line", text: "one" });
    type("o\r");
    expect(await lines.read("> ")).toEqual({ kind: "line", text: "two" });
  });

  it("joins lines that end with a backslash", async () => {
    type("first \\\rsecond\r");
    expect(await lines.read("> ")).toEqual({ kind: "line", text: "first \nsecond" });
  });

  it("brings back earlier lines with the arrow key", async () => {
    type("hello\r");
    await lines.read("> ");
    type("\x1b[A again\r");
    expect(await lines.read("> ")).toEqual({ kind: "line", text: "hello again" });
  });

  it("reports Ctrl-C on an empty line", async () => {
    type("\x03");
    expect(await lines.read("> ")).toEqual({ kind: "interrupt" });
  });

  it("passes Ctrl-C right after Enter on as a signal", async () => {
    let signals = 0;
    const count = (): void => {
      signals++;
    };
    process.on("SIGINT", count);
    type("hello\r\x03");
    expect(await lines.read("> ")).toEqual({ kind: "line", text: "hello" });
    process.off("SIGINT", count);
    expect(signals).toBe(1);
  });

  it("clears a line at Ctrl-C and reads on", async () => {
    type("oops\x03fine\r");
    expect(await lines.read("> ")).toEqual({ kind: "line", text: "fine" });
  });

  it("reports the end at Ctrl-D, and again afterwards", async () => {
    type("\x04");
    expect(await lines.read("> ")).toEqual({ kind: "end" });
    expect(await lines.read("> ")).toEqual({ kind: "end" });
  });

  it("reports the end when the input is closed", async () => {
    setImmediate(() => keyboard.end());
    expect(await lines.read("> ")).toEqual({ kind: "end" });
  });
});
