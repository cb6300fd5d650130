import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { root } from "../../scripts/lib/paths.mjs";

const KEPT_ERROR_LINES = 40;

/** Processes that have not ended. */
const alive = new Set();

/** Ends every process that a failure left behind; without this they would keep the benchmark from ending. */
export async function closeChildren() {
  await Promise.all([...alive].map((child) => child.close()));
}

/**
 * An engine in a process of its own, asked one thing at a time: `{ command, ... }` goes as a line of JSON to its stdin, the
 * answer is the next line of its stdout that begins with `@`.
 */
export class Child {
  #process;
  #pending;
  #errors = [];
  #ended;

  /** @param {string} command @param {string[]} args @param {Record<string, string>} [environment] */
  constructor(command, args, environment = {}) {
    const env = { ...process.env, ...environment };
    this.#process = spawn(command, args, { cwd: root, env, stdio: ["pipe", "pipe", "pipe"] });
    alive.add(this);
    createInterface({ input: this.#process.stdout }).on("line", (line) => this.#receive(line));
    createInterface({ input: this.#process.stderr }).on("line", (line) => {
      this.#errors.push(line);
      if (this.#errors.length > KEPT_ERROR_LINES) this.#errors.shift();
    });
    // Writing to a process that has died fails here too; `close` tells why.
    this.#process.stdin.on("error", () => {});
    this.#ended = new Promise((resolve) => {
      this.#process.on("error", (error) => this.#fail(error.message, resolve));
      this.#process.on("close", (code, signal) => this.#fail(`ended with ${signal ?? `code ${code}`}`, resolve));
    });
  }

  /**
   * @param {{ command: string } & Record<string, unknown>} request
   * @returns {Promise<any>} rejects with the engine's own error, or when the process ends
   */
  ask(request) {
    if (this.#pending) throw new Error("A child is asked one thing at a time.");
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      this.#process.stdin.write(`${JSON.stringify(request)}\n`);
    });
  }

  /** Ends the process and waits until its memory is given back. */
  async close() {
    this.#process.stdin.end();
    const killer = setTimeout(() => this.#process.kill("SIGKILL"), 20_000);
    await this.#ended;
    clearTimeout(killer);
  }

  #receive(line) {
    if (!line.startsWith("@") || !this.#pending) return;
    const { resolve, reject } = this.#pending;
    this.#pending = undefined;
    const { value, error } = JSON.parse(line.slice(1));
    if (error === undefined) resolve(value);
    else reject(new Error(error));
  }

  #fail(reason, resolve) {
    this.#pending?.reject(new Error(`The process ${reason}.\n${this.#errors.join("\n")}`));
    this.#pending = undefined;
    alive.delete(this);
    resolve();
  }
}
