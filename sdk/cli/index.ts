#!/usr/bin/env node
import { createProgram } from "./program.js";
import { describeError } from "./report-error.js";
import { endOnClosedPipe, processTerminal } from "./terminal.js";

const terminal = processTerminal();
endOnClosedPipe([terminal.output, terminal.errors]);
try {
  await createProgram(terminal).parseAsync();
} catch (error) {
  const { text, exitCode } = describeError(error);
  if (text !== undefined) terminal.errors.write(`${text}\n`);
  process.exitCode = exitCode;
}
