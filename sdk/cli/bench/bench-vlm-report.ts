import type { VLMResult } from "../../index.js";
import { formatBytes, formatTable } from "../table.js";

/** Figures of one answer; times in ms. */
export interface VlmRun {
  /** Tokens of the pictures included. */
  promptTokens: number;
  completionTokens: number;
  /** Call to first token: reading and preparing the pictures, encoding them, and the prompt. */
  firstTokenMs: number;
  /** Reading, decoding and resizing the pictures. */
  preprocessMs: number;
  encodeMs: number;
  prefillMs: number;
  /** Mean time of a token after the first. */
  laterTokenMs: number;
  /** Tokens a second after the first one. */
  tokensPerSecond: number;
  durationMs: number;
}

/** What `pergola bench vlm --json` prints. */
export interface VlmBenchReport {
  model: string;
  device: string;
  images: string[];
  prompt: string;
  /** Init time: loading the pipeline. */
  loadMs: number;
  /** Highest resident memory of the process. */
  peakRssBytes: number;
  /** The answer. */
  text: string;
  runs: VlmRun[];
  /** Means over the runs. */
  average: VlmRun;
}

/** Figures of an answer. */
export function toVlmRun({ usage, metrics }: VLMResult): VlmRun {
  const { stages } = metrics;
  return {
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    firstTokenMs: metrics.ttftMs,
    preprocessMs: stages.preprocess,
    encodeMs: stages.encode,
    prefillMs: stages.prefill,
    laterTokenMs: metrics.tpotMs,
    tokensPerSecond: metrics.tokensPerSecond,
    durationMs: metrics.durationMs,
  };
}

const milliseconds = (value: number): string => `${value.toFixed(1)} ms`;

/** The report as text. */
export function vlmBenchReport(report: VlmBenchReport): string {
  const { average } = report;
  const rows = [...report.runs.map((run, index) => [String(index + 1), run] as const), ["average", average] as const];
  const table = formatTable([
    ["Run", "Prompt tokens", "New tokens", "First token", "Image", "Encoder", "Prompt", "Later token", "Tokens/s"],
    ...rows.map(([name, run]) => [
      name,
      run.promptTokens.toFixed(0),
      run.completionTokens.toFixed(0),
      ...[run.firstTokenMs, run.preprocessMs, run.encodeMs, run.prefillMs, run.laterTokenMs].map(milliseconds),
      run.tokensPerSecond.toFixed(1),
    ]),
  ]);
  return [
    `${report.images.join(", ")}, ${report.model} on ${report.device}; nothing is kept between runs`,
    "",
    table,
    "",
    `Init time     ${milliseconds(report.loadMs)}`,
    `First token   ${milliseconds(average.firstTokenMs)} on average, image preparation included`,
    `Throughput    ${average.tokensPerSecond.toFixed(1)} tokens a second after the first`,
    `Peak memory   ${formatBytes(report.peakRssBytes)}`,
  ].join("\n");
}
