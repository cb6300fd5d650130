import { spawn, spawnSync } from "node:child_process";
import { root } from "./paths.mjs";

/** A command that ended badly; `output` is all it printed. */
export class CommandError extends Error {
  constructor(command, args, outcome, output) {
    super(`\`${[command, ...args].join(" ")}\` ${outcome}`);
    this.name = "CommandError";
    this.output = output;
  }
}

/** A failure whose message alone tells the reader what to do; printed without a stack. */
export class SetupError extends Error {
  constructor(message) {
    super(message);
    this.name = "SetupError";
  }
}

/**
 * Runs a command in the clone and resolves with what it printed; rejects with a {@link CommandError}.
 * Output is collected, not shown, so that a build is quiet unless it fails.
 */
export function run(command, args, { cwd = root, env = process.env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const collect = (chunk) => (output += chunk);
    child.stdout.setEncoding("utf8").on("data", collect);
    child.stderr.setEncoding("utf8").on("data", collect);
    child.on("error", (error) =>
      reject(new CommandError(command, args, `could not be started: ${error.message}`, output)),
    );
    child.on("close", (code, signal) => {
      if (code === 0) resolve(output);
      else
        reject(new CommandError(command, args, signal ? `was ended by ${signal}` : `ended with code ${code}`, output));
    });
  });
}

/** Runs a command with this terminal's streams and resolves with its exit code (128 + n for a signal, as shells do). */
export function runAttached(command, args, { cwd = root, env = process.env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: "inherit" });
    // Ctrl-C reaches the whole process group; the child decides what it means, this process waits for it.
    const wait = () => {};
    process.on("SIGINT", wait);
    child.on("error", reject);
    child.on("close", (code, signal) => {
      process.off("SIGINT", wait);
      resolve(code ?? 128 + (signal === "SIGINT" ? 2 : signal === "SIGSEGV" ? 11 : signal === "SIGABRT" ? 6 : 15));
    });
  });
}

/** Output of a short command, or undefined when it cannot be started or fails. */
export function probe(command, args, input) {
  const result = spawnSync(command, args, { encoding: "utf8", input: input ?? "", timeout: 60_000 });
  return result.status === 0 ? result.stdout + result.stderr : undefined;
}

/** Entry of every script: prints failures in a readable way and sets the exit code. */
export async function main(body) {
  try {
    const code = await body();
    if (typeof code === "number") process.exitCode = code;
  } catch (error) {
    if (error instanceof CommandError) process.stderr.write(`\n${error.output.trimEnd()}\n\n${error.message}\n`);
    else if (error instanceof SetupError) process.stderr.write(`\n${error.message}\n`);
    else process.stderr.write(`\n${error?.stack ?? error}\n`);
    process.exitCode = 1;
  }
}
