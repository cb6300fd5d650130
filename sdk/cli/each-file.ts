import { DisposedError, OptionError, PergolaError } from "../index.js";
import { Interrupted } from "./exit-codes.js";
import { nameOfInput, type FileOutput } from "./file-output.js";
import type { Interrupts } from "./interrupts.js";
import { describeError } from "./report-error.js";
import type { Terminal } from "./terminal.js";

/** Work on one file. */
export interface FileWork<Result> {
  /** Resolves when the work has ended, whatever the reason. */
  finished: Promise<Result>;
  /** Ends the work; what had come is the result. */
  stop(): void;
}

/** How files are worked on. */
export interface FileJob<Result> {
  start(input: string): FileWork<Result> | Promise<FileWork<Result>>;
  output: FileOutput<Result>;
  /** Paths of options that stand for the file itself: what is wrong with them is wrong with this file. */
  filePath: RegExp;
  /** Where the SDK's messages say whose value is wrong, which the name of the file does here. */
  valueName?: string;
  /** For the message at Ctrl-C: `transcribing`. */
  doing: string;
  terminal: Terminal;
  interrupts: Interrupts;
}

/**
 * Works on files one after the other. Errors of a file are told, and the next one follows. Ctrl-C ends the file at hand, whose
 * result is what had come, and leaves out the rest.
 *
 * @returns how many files failed
 * @throws Interrupted after Ctrl-C, and what would fail for every file: wrong options, mistakes of this program
 */
export async function eachFile<Result>(inputs: readonly string[], job: FileJob<Result>): Promise<number> {
  let failures = 0;
  let interrupted = false;
  for (const input of inputs) {
    let result: Result | undefined;
    try {
      await job.output.begin(input);
      const work = await job.start(input);
      result = await job.interrupts.during(
        () => work.finished,
        () => {
          interrupted = true;
          work.stop();
        },
      );
      await job.output.deliver(input, result, interrupted);
    } catch (error) {
      if (!isOfOneFile(error, job.filePath)) throw error;
      failures++;
      job.terminal.errors.write(`${nameFile(describeError(error).text ?? "", input, job.valueName)}\n`);
      if (result === undefined) await job.output.deliver(input, undefined);
    }
    if (interrupted) break;
  }
  await job.output.end();
  if (interrupted) throw new Interrupted(`interrupted while ${job.doing}`);
  return failures;
}

/** Errors after which the next file may well succeed. */
function isOfOneFile(error: unknown, filePath: RegExp): boolean {
  if (OptionError.isInstance(error)) return filePath.test(error.path);
  if (DisposedError.isInstance(error)) return false;
  return PergolaError.isInstance(error) || typeof (error as NodeJS.ErrnoException | undefined)?.syscall === "string";
}

function nameFile(told: string, input: string, valueName: string | undefined): string {
  const name = nameOfInput(input);
  let message = told;
  if (valueName !== undefined) message = told.replace(`error: ${valueName}: `, "error: ").replaceAll(valueName, name);
  return message.includes(name) ? message : message.replace(/^error: /, `error: ${name}: `);
}
