import {
  DisposedError,
  formatTranscript,
  OptionError,
  PergolaError,
  type Transcript,
  type TranscriptSegment,
  type WhisperOptions,
} from "../index.js";
import { Interrupted } from "./exit-codes.js";
import type { Interrupts } from "./interrupts.js";
import { describeError } from "./report-error.js";
import { progressBar, showActivity, write, type Activity, type Terminal } from "./terminal.js";
import type { TranscriptOutput } from "./transcribe-output.js";

/** What is needed of a stream of segments. */
export interface SegmentStream extends AsyncIterable<TranscriptSegment> {
  readonly result: Promise<Transcript>;
  stop(): Promise<void>;
}

/** What is needed of a pipeline; tests hand in their own. */
export interface Transcriber {
  stream(audio: string | NodeJS.ReadableStream, options: WhisperOptions): SegmentStream;
}

/** The work and its surroundings. */
export interface TranscribeJob {
  whisper: Transcriber;
  options: WhisperOptions;
  output: TranscriptOutput;
  terminal: Terminal;
  interrupts: Interrupts;
}

/**
 * Transcribes files one after the other. Errors of a file are told, and the next one follows. Ctrl-C ends the file at hand,
 * whose transcript is what had come, and leaves out the rest.
 *
 * @returns how many files failed
 * @throws Interrupted after Ctrl-C, and what would fail for every file: wrong options, mistakes of this program
 */
export async function transcribeFiles(inputs: readonly string[], job: TranscribeJob): Promise<number> {
  let failures = 0;
  let interrupted = false;
  for (const input of inputs) {
    let transcript: Transcript | undefined;
    try {
      await job.output.begin(input);
      const stream = job.whisper.stream(input === "-" ? job.terminal.input : input, {
        ...job.options,
        onProgress: ({ fraction }) => progress.say(fraction),
      });
      const progress = new FileProgress(input, job.terminal);
      transcript = await job.interrupts.during(
        () => followStream(stream, progress, job.output.streams).finally(() => progress.end()),
        () => {
          interrupted = true;
          void stream.stop();
        },
      );
      await job.output.deliver(input, transcript);
    } catch (error) {
      if (!isOfOneFile(error)) throw error;
      failures++;
      job.terminal.errors.write(`${nameFile(describeError(error).text ?? "", input)}\n`);
      if (!transcript) await job.output.deliver(input, undefined);
    }
    if (interrupted) break;
  }
  await job.output.end();
  if (interrupted) throw new Interrupted("interrupted while transcribing");
  return failures;
}

async function followStream(stream: SegmentStream, progress: FileProgress, prints: boolean): Promise<Transcript> {
  for await (const segment of stream) {
    if (prints) await progress.print(formatTranscript({ segments: [segment] }, "txt"));
  }
  return stream.result;
}

/** Shows how far a file has come, and keeps the sign of it and printed text apart. */
class FileProgress {
  #activity: Activity;
  #text: string;

  constructor(
    private readonly input: string,
    private readonly terminal: Terminal,
  ) {
    this.#text = this.#describe(undefined);
    this.#activity = showActivity(this.#text, terminal.errors);
  }

  say(fraction: number | undefined): void {
    this.#text = this.#describe(fraction);
    this.#activity.say(this.#text);
  }

  async print(text: string): Promise<void> {
    this.#activity.end();
    await write(this.terminal.output, text);
    this.#activity = showActivity(this.#text, this.terminal.errors);
  }

  end(): void {
    this.#activity.end();
  }

  #describe(fraction: number | undefined): string {
    const name = this.input === "-" ? "stdin" : this.input;
    return fraction === undefined ? `Transcribing ${name}` : `Transcribing ${name} ${progressBar(fraction)}`;
  }
}

/** Errors after which the next file may well succeed. */
function isOfOneFile(error: unknown): boolean {
  if (OptionError.isInstance(error)) return /^audio\b/.test(error.path);
  if (DisposedError.isInstance(error)) return false;
  return PergolaError.isInstance(error) || typeof (error as NodeJS.ErrnoException | undefined)?.syscall === "string";
}

function nameFile(message: string, input: string): string {
  const name = input === "-" ? "stdin" : input;
  return message.includes(name) ? message : message.replace(/^error: /, `error: ${name}: `);
}
