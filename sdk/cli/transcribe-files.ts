import { formatTranscript, type Transcript, type TranscriptSegment, type WhisperOptions } from "../index.js";
import { eachFile, type FileWork } from "./each-file.js";
import { nameOfInput } from "./file-output.js";
import type { Interrupts } from "./interrupts.js";
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
 * Transcribes files one after the other, as {@link eachFile} does.
 *
 * @returns how many files failed
 */
export function transcribeFiles(inputs: readonly string[], job: TranscribeJob): Promise<number> {
  const { whisper, options, output, terminal, interrupts } = job;
  const start = (input: string): FileWork<Transcript> => {
    const stream = whisper.stream(input === "-" ? terminal.input : input, {
      ...options,
      onProgress: ({ fraction }) => progress.say(fraction),
    });
    const progress = new FileProgress(input, terminal);
    return {
      finished: followStream(stream, progress, output.streams).finally(() => progress.end()),
      stop: () => void stream.stop(),
    };
  };
  return eachFile(inputs, { start, output, filePath: /^audio\b/, doing: "transcribing", terminal, interrupts });
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
    const name = nameOfInput(this.input);
    return fraction === undefined ? `Transcribing ${name}` : `Transcribing ${name} ${progressBar(fraction)}`;
  }
}
