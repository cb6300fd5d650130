import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { command, root } from "./paths.js";

/** How a child process ended. */
export interface Outcome {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  cwd?: string;
  env?: Record<string, string | undefined>;
  /** Written to stdin, which is then closed. Without it stdin is empty. */
  input?: string | Uint8Array;
  /** Called with the child once it runs, for signals and the like. */
  onStart?: (child: RunningChild) => void;
  /** Far more than it should ever take: a child that hangs is killed, and the test fails by its signal. */
  timeout?: number;
}

/** A child process whose output is collected. */
export class RunningChild {
  readonly outcome: Promise<Outcome>;
  readonly #child: ChildProcessWithoutNullStreams;
  #stdout = "";
  #stderr = "";
  readonly #watchers = new Set<() => void>();

  constructor(file: string, args: readonly string[], { cwd = root, env = {}, timeout = 120_000 }: RunOptions = {}) {
    const environment = { ...process.env, CI: undefined, NODE_OPTIONS: undefined, VITEST: undefined, ...env };
    this.#child = spawn(file, args, { cwd, env: environment, stdio: "pipe" });
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), timeout);
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => this.#collect(() => (this.#stdout += text)));
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => this.#collect(() => (this.#stderr += text)));
    // A child that ends early closes its stdin.
    this.#child.stdin.on("error", () => undefined);
    this.outcome = new Promise((resolve, reject) => {
      this.#child.on("error", reject);
      this.#child.on("close", (code, signal) => {
        clearTimeout(timer);
        resolve({ code, signal, stdout: this.#stdout, stderr: this.#stderr });
        this.#collect(() => undefined);
      });
    });
  }

  get stdout(): string {
    return this.#stdout;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  type(text: string): void {
    this.#child.stdin.write(text);
  }

  closeInput(content: string | Uint8Array = ""): void {
    this.#child.stdin.end(content);
  }

  /** Stops reading the child's output, as a program does that has seen enough. */
  closeOutput(): void {
    this.#child.stdout.destroy();
  }

  /** Resolves with where the match ends when stdout, from `from` on, matches; rejects if the child ends before. */
  async waitFor(pattern: RegExp, from = 0): Promise<number> {
    let ended = false;
    void this.outcome.then(() => (ended = true));
    for (;;) {
      const match = pattern.exec(this.#stdout.slice(from));
      if (match) return from + match.index + match[0].length;
      if (ended)
        throw new Error(`The program ended before it printed ${String(pattern)}:
${this.#stdout}
${this.#stderr}`);
      await new Promise<void>((resolve) => {
        const watcher = (): void => {
          this.#watchers.delete(watcher);
          resolve();
        };
        this.#watchers.add(watcher);
      });
    }
  }

  #collect(change: () => void): void {
    change();
    for (const watcher of [...this.#watchers]) watcher();
  }
}

/** Runs a program to its end. */
export async function run(file: string, args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const child = new RunningChild(file, args, options);
  child.closeInput(options.input ?? "");
  options.onStart?.(child);
  return child.outcome;
}

/** Runs `pergola` to its end. */
export function pergola(args: readonly string[], options?: RunOptions): Promise<Outcome> {
  return run(process.execPath, [command, ...args], options);
}

/** Runs a program text with Node. */
export function runModule(source: string, options?: RunOptions & { nodeFlags?: string[] }): Promise<Outcome> {
  return run(process.execPath, [...(options?.nodeFlags ?? []), "--input-type=module", "--eval", source], options);
}
