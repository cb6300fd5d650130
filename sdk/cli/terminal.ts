import yoctoSpinner, { type Spinner } from "yocto-spinner";
import type { LoadProgress } from "../index.js";

/** Where the program reads and writes; tests hand in their own. */
export interface Terminal {
  input: NodeJS.ReadStream;
  output: NodeJS.WriteStream;
  errors: NodeJS.WriteStream;
}

/** The streams of this process. */
export function processTerminal(): Terminal {
  return { input: process.stdin, output: process.stdout, errors: process.stderr };
}

/** A sign on stderr that work goes on; nothing where stderr is no terminal. */
export interface Activity {
  say(text: string): void;
  end(): void;
}

const SILENT: Activity = { say: () => undefined, end: () => undefined };

/** Shows a spinner with a text until `end()`. */
export function showActivity(text: string, errors: NodeJS.WriteStream): Activity {
  if (!errors.isTTY) return SILENT;
  // Signals stay with this program: its own handlers decide what Ctrl-C means.
  const spinner: Spinner = yoctoSpinner({ text, stream: errors, handleSignals: false }).start();
  return {
    say: (next) => (spinner.text = next),
    end: () => void spinner.stop(),
  };
}

const BAR_WIDTH = 24;

/** A bar for a fraction from 0 to 1: `████████░░░░░░░░  50 %`. */
export function progressBar(fraction: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, fraction)) * BAR_WIDTH);
  const percent = `${Math.round(fraction * 100)} %`.padStart(5);
  return "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled) + percent;
}

const STAGE_TEXT: Partial<Record<LoadProgress["stage"], string>> = {
  files: "looking at the files",
  tokenizer: "reading the tokenizer",
  read: "reading the model",
  convert: "converting the model",
  compile: "compiling for the device",
  import: "reading the compiled model",
  export: "keeping the compiled model",
  "warm-up": "warming up",
};

/** Runs a load with a progress bar on stderr. */
export async function withLoadProgress<Loaded>(
  errors: NodeJS.WriteStream,
  load: (onProgress: (progress: LoadProgress) => void) => Promise<Loaded>,
): Promise<Loaded> {
  const activity = showActivity("Loading the model", errors);
  // The cursor is hidden meanwhile.
  const end = (): void => activity.end();
  process.once("exit", end);
  try {
    return await load(({ stage, fraction }) => {
      const what = STAGE_TEXT[stage];
      activity.say(`Loading the model ${progressBar(fraction)}${what ? `  ${what}` : ""}`);
    });
  } finally {
    process.off("exit", end);
    activity.end();
  }
}

/** Writes and waits for room, so that a slow reader of a pipe does not fill memory. */
export async function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  if (stream.write(text)) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      stream.off("drain", done);
      stream.off("close", done);
      resolve();
    };
    stream.on("drain", done);
    stream.on("close", done);
  });
}

/**
 * Ends quietly when a reader closes the pipe early (`pergola … | head`), as other programs do.
 * Any other trouble with the stream is an error.
 */
export function endOnClosedPipe(streams: NodeJS.WriteStream[]): void {
  for (const stream of streams) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit(0);
      throw error;
    });
  }
}
