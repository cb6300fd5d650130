import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import { command } from "./paths.js";
import { RunningChild } from "./run.js";

export const CTRL_C = "\x03";
export const CTRL_D = "\x04";

/** Starts `pergola` in a pseudo terminal. */
export function pergolaInTerminal(args: readonly string[]): RunningChild {
  const pty = path.join(import.meta.dirname, "run_in_terminal.py");
  return new RunningChild("python3", [pty, process.execPath, command, ...args], { env: { TERM: "xterm-256color" } });
}

/** Text without cursor movements and colours. */
export function plain(text: string): string {
  return stripVTControlCharacters(text).replaceAll("\r", "");
}
