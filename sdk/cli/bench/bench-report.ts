import { formatBytes, formatTable } from "../table.js";

/** Figures of one run; means over its requests. */
export interface BenchRun {
  promptTokens: number;
  /** Of all requests together. */
  completionTokens: number;
  /** Call to first token. */
  ttftMs: number;
  /** Mean time of a token after the first, for one request. */
  tpotMs: number;
  /** Tokens of all requests divided by the time of the run, prompt included. */
  tokensPerSecond: number;
  durationMs: number;
}

/** What `pergola bench llm --json` prints. */
export interface BenchReport {
  model: string;
  device: string;
  concurrency: number;
  loadMs: number;
  /** Size of the files that hold the weights. */
  weightBytes: number;
  bandwidthBytesPerSecond: number;
  /** Highest resident memory of the process. */
  peakRssBytes: number;
  runs: BenchRun[];
  /** Medians over the runs. */
  summary: BenchRun;
}

/** The mean of each figure. */
export function meanOf<Run extends object>(runs: readonly Run[]): Run {
  const names = Object.keys(runs[0]!) as (keyof Run & string)[];
  const mean = (name: keyof Run): number =>
    runs.reduce((sum, run) => sum + (run[name] as unknown as number), 0) / runs.length;
  return Object.fromEntries(names.map((name) => [name, mean(name)])) as unknown as Run;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The median of each figure. */
export function summarize(runs: readonly BenchRun[]): BenchRun {
  const of = (pick: (run: BenchRun) => number): number => median(runs.map(pick));
  return {
    promptTokens: of((run) => run.promptTokens),
    completionTokens: of((run) => run.completionTokens),
    ttftMs: of((run) => run.ttftMs),
    tpotMs: of((run) => run.tpotMs),
    tokensPerSecond: of((run) => run.tokensPerSecond),
    durationMs: of((run) => run.durationMs),
  };
}

/** Time to read all weights once: no token of a single request can be faster on this memory. */
export function floorMs(report: Pick<BenchReport, "weightBytes" | "bandwidthBytesPerSecond">): number {
  return (report.weightBytes / report.bandwidthBytesPerSecond) * 1000;
}

const milliseconds = (value: number): string => `${value.toFixed(1)} ms`;

/** The report as text. */
export function benchReport(report: BenchReport): string {
  const rows = [
    ...report.runs.map((run, index) => [String(index + 1), run] as const),
    ["median", report.summary] as const,
  ];
  const table = formatTable([
    ["Run", "Prompt tokens", "New tokens", "First token", "Later token", "Tokens/s"],
    ...rows.map(([name, run]) => [
      name,
      String(run.promptTokens),
      String(run.completionTokens),
      milliseconds(run.ttftMs),
      milliseconds(run.tpotMs),
      run.tokensPerSecond.toFixed(1),
    ]),
  ]);
  const bandwidth = `${formatBytes(report.bandwidthBytesPerSecond)}/s`;
  return [
    `${report.model} on ${report.device}, ${report.concurrency} at once`,
    "",
    table,
    "",
    `Load          ${milliseconds(report.loadMs)}`,
    `Peak memory   ${formatBytes(report.peakRssBytes)}`,
    `Floor         ${milliseconds(floorMs(report))} a token: ${formatBytes(report.weightBytes)} of weights read at ${bandwidth} (measured)`,
  ].join("\n");
}
