import { write, type Terminal } from "./terminal.js";

/** Where the results of several files go. */
export interface FileOutput<Result> {
  /** Called before the work on a file. */
  begin(input: string): Promise<void>;
  /**
   * Takes the result of a file; undefined: there is none, because of an error.
   *
   * @param cutShort - Ctrl-C came before the end: the result is what there was until then
   */
  deliver(input: string, result: Result | undefined, cutShort?: boolean): Promise<void>;
  /** Called when all files are done. */
  end(): Promise<void>;
}

/** What a file is called in messages. */
export function nameOfInput(input: string): string {
  return input === "-" ? "stdin" : input;
}

/** The result object as JSON; of several files an array in their order, with `null` for those that failed. */
export class JsonOutput<Result> implements FileOutput<Result> {
  readonly #results: (Result | null)[] = [];

  constructor(
    private readonly count: number,
    private readonly terminal: Terminal,
  ) {}

  async begin(): Promise<void> {
    // Printed at the end.
  }

  async deliver(_: string, result: Result | undefined): Promise<void> {
    this.#results.push(result ?? null);
  }

  async end(): Promise<void> {
    const result = this.count === 1 ? this.#results[0] : this.#results;
    if (result) await write(this.terminal.output, `${JSON.stringify(result, null, 2)}\n`);
  }
}

/** Text on stdout, of several files under their names. */
export abstract class PrintedOutput<Result> implements FileOutput<Result> {
  #count = 0;

  constructor(
    private readonly withHeadings: boolean,
    protected readonly terminal: Terminal,
  ) {}

  async begin(input: string): Promise<void> {
    const gap = this.#count++ > 0 ? "\n" : "";
    if (this.withHeadings) await write(this.terminal.output, `${gap}==> ${nameOfInput(input)} <==\n`);
  }

  abstract deliver(input: string, result: Result | undefined): Promise<void>;

  async end(): Promise<void> {
    // Everything is printed.
  }
}
