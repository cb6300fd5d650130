import { createInterface, type Interface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import type { Terminal } from "./terminal.js";

/** What came from the user: a line, Ctrl-C at the prompt, or the end of the input (Ctrl-D). */
export type UserInput = { kind: "line"; text: string } | { kind: "interrupt" } | { kind: "end" };

/**
 * A reader stays open for a moment after Enter. A Ctrl-C that comes while the terminal changes its mode is no signal any more and
 * not yet read by anybody: it would be lost, and it is right after Enter that a mistake is noticed.
 */
const LINGER_MS = 40;

/**
 * Reads lines with editing and history, one prompt at a time.
 *
 * Between prompts the terminal is in its usual mode, so that Ctrl-C is a signal while an answer runs. Lines that arrive
 * together (a paste) are kept and served one after the other.
 */
export class LineReader {
  readonly #terminal: Terminal;
  readonly #waiting: string[] = [];
  #history: string[] = [];
  /** Typed ahead, but not ended with Enter. */
  #started = "";
  #ended = false;
  /** The reader before is still open; see {@link LINGER_MS}. */
  #closing: Promise<void> | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Shows the prompt and resolves with what the user does. A line that ends with `\` goes on with the next. */
  async read(prompt: string): Promise<UserInput> {
    let text = "";
    for (;;) {
      const input = await this.#readOne(text === "" ? prompt : "… ");
      if (input.kind !== "line") return input;
      if (!input.text.endsWith("\\")) return { kind: "line", text: text + input.text };
      text += `${input.text.slice(0, -1)}\n`;
    }
  }

  async #readOne(prompt: string): Promise<UserInput> {
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) {
      this.#terminal.output.write(`${prompt}${waiting}\n`);
      return { kind: "line", text: waiting };
    }
    await this.#closing;
    if (this.#waiting.length > 0) return this.#readOne(prompt);
    if (this.#ended) return { kind: "end" };
    const lines = createInterface({
      input: this.#terminal.input,
      output: this.#terminal.output,
      terminal: true,
      history: [...this.#history],
      historySize: 500,
      removeHistoryDuplicates: true,
      prompt,
    });
    lines.on("history", (history) => (this.#history = [...history]));
    const close = (): void => {
      this.#started = this.#ended ? "" : lines.line;
      lines.close();
    };
    const input = await this.#firstEvent(lines);
    if (input.kind === "line") this.#closing = delay(LINGER_MS).then(close);
    else close();
    return input;
  }

  #firstEvent(lines: Interface): Promise<UserInput> {
    return new Promise((resolve) => {
      let answered = false;
      lines.on("line", (text) => {
        // Further lines of the same paste come before this reader is closed.
        if (answered) this.#waiting.push(text);
        answered = true;
        resolve({ kind: "line", text });
      });
      lines.on("SIGINT", () => {
        // Typed right after Enter, while the terminal still was in the mode for editing: it is meant for the answer.
        if (answered) {
          process.emit("SIGINT");
          return;
        }
        const hadText = lines.line.length > 0;
        this.#terminal.output.write("\n");
        if (!hadText) {
          answered = true;
          resolve({ kind: "interrupt" });
          return;
        }
        lines.write(null, { ctrl: true, name: "e" });
        lines.write(null, { ctrl: true, name: "u" });
        lines.prompt();
      });
      lines.on("close", () => {
        if (answered) return;
        this.#ended = true;
        resolve({ kind: "end" });
      });
      lines.prompt();
      if (this.#started) lines.write(this.#started);
    });
  }
}
