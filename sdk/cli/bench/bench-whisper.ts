import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { WhisperPipeline, type Transcript } from "../../index.js";
import {
  summarizeWhisper,
  toWhisperRun,
  whisperBenchReport,
  type WhisperBenchReport,
  type WhisperRun,
} from "./bench-whisper-report.js";
import { Interrupted } from "../exit-codes.js";
import { parseCount } from "../flags.js";
import { interruptible } from "../interrupts.js";
import { showActivity, withLoadProgress, type Terminal } from "../terminal.js";
import { addWhisperFlags, toWhisperLoadOptions, toWhisperOptions, type WhisperFlags } from "../transcribe-flags.js";
import { wordErrors } from "./word-error-rate.js";

interface WhisperBenchFlags extends WhisperFlags {
  audio: string;
  reference?: string;
  runs: number;
  json?: true;
}

/** `pergola bench whisper`: what this machine does with a Whisper model and a recording. */
export function addWhisperBench(bench: Command, terminal: Terminal): void {
  const command = bench
    .command("whisper")
    .description("time, real-time factor, time to the first segment, peak memory and word errors of a transcription")
    .requiredOption("-a, --audio <file>", "the recording")
    .option("-r, --reference <file>", "text file with what is said in it: word errors are counted against it")
    .option("--runs <n>", "measured runs, after one that is not counted", parseCount, 5)
    .option("--json", "print the figures as JSON");
  addWhisperFlags(command).action((flags: WhisperBenchFlags) => run(flags, terminal));
}

async function run(flags: WhisperBenchFlags, terminal: Terminal): Promise<void> {
  // What is missing must be told before anything is measured.
  const reference = flags.reference === undefined ? undefined : await readFile(flags.reference, "utf8");
  const controller = new AbortController();
  const report = await interruptible(
    () => measure(flags, reference, terminal, controller.signal),
    () => controller.abort(new Interrupted("interrupted")),
  );
  terminal.output.write(flags.json ? `${JSON.stringify(report, null, 2)}\n` : `${whisperBenchReport(report)}\n`);
}

async function measure(
  flags: WhisperBenchFlags,
  reference: string | undefined,
  { errors }: Terminal,
  signal: AbortSignal,
): Promise<WhisperBenchReport> {
  const started = performance.now();
  const whisper = await withLoadProgress(errors, (onProgress) =>
    WhisperPipeline.load(flags.model, { ...toWhisperLoadOptions(flags), onProgress, signal }),
  );
  const loadMs = performance.now() - started;
  try {
    const { runs, transcript } = await measureRuns(whisper, flags, errors, signal);
    return {
      model: flags.model,
      device: flags.device ?? "CPU",
      audio: flags.audio,
      audioDuration: transcript.duration,
      ...(flags.batchSize !== undefined && { batchSize: flags.batchSize }),
      loadMs,
      // In kilobytes on Linux.
      peakRssBytes: process.resourceUsage().maxRSS * 1024,
      text: transcript.text,
      ...(reference !== undefined && { wordErrors: wordErrors(reference, transcript.text) }),
      runs,
      summary: summarizeWhisper(runs),
    };
  } finally {
    await whisper.dispose();
  }
}

async function measureRuns(
  whisper: WhisperPipeline,
  flags: WhisperBenchFlags,
  errors: NodeJS.WriteStream,
  signal: AbortSignal,
): Promise<{ runs: WhisperRun[]; transcript: Transcript }> {
  const activity = showActivity("First run (not counted)", errors);
  try {
    const options = { ...toWhisperOptions(flags), signal };
    let transcript = await whisper.transcribe(flags.audio, options);
    const runs: WhisperRun[] = [];
    while (runs.length < flags.runs) {
      activity.say(`Run ${runs.length + 1} of ${flags.runs}`);
      const started = performance.now();
      transcript = await whisper.transcribe(flags.audio, options);
      runs.push(toWhisperRun(transcript, performance.now() - started));
    }
    return { runs, transcript };
  } finally {
    activity.end();
  }
}
