import { Option, type Command } from "commander";
import { WhisperPipeline } from "../index.js";
import { EXIT, UsageError } from "./exit-codes.js";
import { parseNumber } from "./flags.js";
import { interruptibleLoad, Interrupts } from "./interrupts.js";
import { withLoadProgress, type Terminal } from "./terminal.js";
import { transcribeFiles } from "./transcribe-files.js";
import { addWhisperFlags, toWhisperLoadOptions, toWhisperOptions, type WhisperFlags } from "./transcribe-flags.js";
import { planOutput, type OutputFlags } from "./transcribe-output.js";

type TranscribeFlags = WhisperFlags & OutputFlags;

/** `pergola transcribe`: what was said in audio files. */
export function addTranscribeCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("transcribe")
    .description("write down what was said in audio files")
    .argument("<audio...>", 'audio files; "-" reads one from stdin')
    .addOption(
      new Option("-f, --format <format>", "lines of text, subtitles, or the result object").choices([
        "txt",
        "srt",
        "vtt",
        "json",
      ]),
    )
    .option("-o, --out <path>", "write a file (its ending may tell the format) or, for several, into a folder")
    .option("--json", "print the result object as JSON; an array for several files")
    .option("--max-line-length <n>", "columns of a subtitle's line", parseNumber)
    .option("--max-lines <n>", "lines of a subtitle", parseNumber)
    .option("--highlight-words", "vtt: each word carries its time");
  addWhisperFlags(command).action((inputs: string[], flags: TranscribeFlags) => run(inputs, flags, terminal));
}

async function run(inputs: string[], flags: TranscribeFlags, terminal: Terminal): Promise<void> {
  checkInputs(inputs, flags, terminal);
  const output = await planOutput(inputs, flags, terminal);
  const options = toWhisperOptions(flags.highlightWords ? { ...flags, timestamps: "word" } : flags);
  const whisper = await interruptibleLoad((signal) =>
    withLoadProgress(terminal.errors, (onProgress) =>
      WhisperPipeline.load(flags.model, { ...toWhisperLoadOptions(flags), onProgress, signal }),
    ),
  );
  const interrupts = new Interrupts();
  try {
    const failures = await transcribeFiles(inputs, { whisper, options, output, terminal, interrupts });
    if (failures > 0) process.exitCode = EXIT.error;
  } finally {
    interrupts.close();
    await whisper.dispose();
  }
}

function checkInputs(inputs: readonly string[], flags: TranscribeFlags, { input }: Terminal): void {
  const fromStdin = inputs.filter((name) => name === "-").length;
  if (fromStdin > 1) throw new UsageError('"-" reads stdin, which can be done once.');
  if (fromStdin > 0 && input.isTTY) throw new UsageError('"-" reads an audio file from stdin: pipe one in.');
  if (flags.highlightWords && flags.timestamps === "segment") {
    throw new UsageError("--highlight-words needs --timestamps word.");
  }
}
