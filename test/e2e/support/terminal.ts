import path from "node:path";
import { command } from "./paths.js";
import { RunningChild } from "./run.js";

export const CTRL_C = "\x03";
export const CTRL_D = "\x04";

/** Starts `pergola` in a pseudo terminal. */
export function pergolaInTerminal(args: readonly string[]): RunningChild {
  const pty = path.join(import.meta.dirname, "run_in_terminal.py");
  return new RunningChild("python3", [pty, process.execPath, command, ...args], {
    env: { TERM: "xterm-256color" },
    timeout: 60_000,
  });
}
