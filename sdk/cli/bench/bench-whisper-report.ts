import type { Transcript, TranscriptMetrics } from "../../index.js";
import { median } from "./bench-report.js";
import { formatBytes, formatTable } from "../table.js";
import type { WordErrors } from "./word-error-rate.js";

/** Figures of one transcription; times in ms. */
export interface WhisperRun {
  /** Call to result. */
  durationMs: number;
  /** Time divided by the length of the audio. */
  realTimeFactor: number;
  /** Call to first segment; 0 where nothing was said. */
  firstSegmentMs: number;
  /** Reading the audio, and its log-mel spectrogram. */
  melMs: number;
  encoderMs: number;
  /** Prompts and tokens. */
  decoderMs: number;
  /** Word times, as far as they are computed apart. */
  otherMs: number;
  windows: number;
  fallbacks: number;
  /** Tokens of the transcript. */
  tokens: number;
}

/** What `pergola bench whisper --json` prints. */
export interface WhisperBenchReport {
  model: string;
  device: string;
  audio: string;
  /** Seconds. */
  audioDuration: number;
  batchSize?: number;
  loadMs: number;
  /** Highest resident memory of the process. */
  peakRssBytes: number;
  text: string;
  /** Against the text given with `--reference`. */
  wordErrors?: WordErrors;
  runs: WhisperRun[];
  /** Medians over the runs. */
  summary: WhisperRun;
}

/** Figures of a transcription. What no stage accounts for is work of JavaScript, and waiting. */
export function toWhisperRun({ metrics, segments }: Transcript, durationMs: number): WhisperRun {
  const { stages } = metrics;
  const known = stages.preprocess + stages.encode + stages.prefill + stages.decode;
  return {
    durationMs,
    realTimeFactor: metrics.realTimeFactor,
    firstSegmentMs: metrics.ttftMs,
    melMs: stages.preprocess,
    encoderMs: stages.encode,
    decoderMs: stages.prefill + stages.decode,
    otherMs: Math.max(0, durationMs - known),
    ...pickCounts(metrics),
    tokens: segments.reduce((sum, { tokens }) => sum + tokens.length, 0),
  };
}

function pickCounts({ windows, fallbacks }: TranscriptMetrics): Pick<WhisperRun, "windows" | "fallbacks"> {
  return { windows, fallbacks };
}

/** The median of each figure. */
export function summarizeWhisper(runs: readonly WhisperRun[]): WhisperRun {
  const names = Object.keys(runs[0]!) as (keyof WhisperRun)[];
  return Object.fromEntries(names.map((name) => [name, median(runs.map((run) => run[name]))])) as unknown as WhisperRun;
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(2)} s`;
const milliseconds = (value: number): string => `${value.toFixed(1)} ms`;

/** The report as text. */
export function whisperBenchReport(report: WhisperBenchReport): string {
  const { summary, wordErrors } = report;
  const rows = [...report.runs.map((run, index) => [String(index + 1), run] as const), ["median", summary] as const];
  const table = formatTable([
    ["Run", "Time", "Real-time factor", "First segment", "Mel", "Encoder", "Decoder", "Other"],
    ...rows.map(([name, run]) => [
      name,
      seconds(run.durationMs),
      run.realTimeFactor.toFixed(3),
      seconds(run.firstSegmentMs),
      ...[run.melMs, run.encoderMs, run.decoderMs, run.otherMs].map(milliseconds),
    ]),
  ]);
  const each = (total: number, count: number): string => (count > 0 ? milliseconds(total / count) : "–");
  const batch = report.batchSize === undefined ? "" : `, ${report.batchSize} windows at once`;
  return [
    `${report.audio} (${report.audioDuration.toFixed(1)} s), ${report.model} on ${report.device}${batch}`,
    "",
    table,
    "",
    `Load          ${milliseconds(report.loadMs)}`,
    `Encoder       ${each(summary.encoderMs, summary.windows)} a window, ${summary.windows} windows`,
    `Decoder       ${each(summary.decoderMs, summary.tokens)} a token, ${summary.tokens} tokens, ${summary.fallbacks} windows decoded again`,
    `Peak memory   ${formatBytes(report.peakRssBytes)}`,
    ...(wordErrors
      ? [`Word errors   ${wordErrors.errors} of ${wordErrors.words} words, ${(wordErrors.rate * 100).toFixed(1)} %`]
      : []),
  ].join("\n");
}
