import type { ImageResult } from "../../index.js";
import { formatBytes, formatTable } from "../table.js";

/** Figures of one call; times in ms. */
export interface ImageRun {
  /** Call to result, divided by the number of pictures. */
  pictureMs: number;
  /** Call to the first image token. */
  firstTokenMs: number;
  /** Mean time of a step, which makes one token of every picture. */
  stepMs: number;
  /** Image tokens a second, over all pictures. */
  tokensPerSecond: number;
  /** Decoding tokens to pixels, for one picture. */
  decodeMs: number;
  durationMs: number;
}

/** What `pergola bench image --json` prints. */
export interface ImageBenchReport {
  model: string;
  device: string;
  prompt: string;
  /** Pictures made together. */
  n: number;
  guidance: number;
  /** Tokens of a picture. */
  imageTokens: number;
  /** Init time: loading the pipeline. */
  loadMs: number;
  /** Highest resident memory of the process. */
  peakRssBytes: number;
  /** Weights that are read at each step. */
  stepWeightBytes: number;
  bandwidthBytesPerSecond: number;
  runs: ImageRun[];
  /** Means over the runs. */
  average: ImageRun;
}

/** Figures of a call. */
export function toImageRun({ images, metrics }: ImageResult): ImageRun {
  return {
    pictureMs: metrics.durationMs / images.length,
    firstTokenMs: metrics.ttftMs,
    stepMs: metrics.tpotMs,
    tokensPerSecond: metrics.tokensPerSecond,
    decodeMs: metrics.stages.pictures / images.length,
    durationMs: metrics.durationMs,
  };
}

/** Time to read the weights of a step once: no step can be faster on this memory. */
export function stepFloorMs(report: Pick<ImageBenchReport, "stepWeightBytes" | "bandwidthBytesPerSecond">): number {
  return (report.stepWeightBytes / report.bandwidthBytesPerSecond) * 1000;
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(2)} s`;
const milliseconds = (value: number): string => `${value.toFixed(1)} ms`;

/** The report as text. */
export function imageBenchReport(report: ImageBenchReport): string {
  const { average, n } = report;
  const rows = [...report.runs.map((run, index) => [String(index + 1), run] as const), ["average", average] as const];
  const table = formatTable([
    ["Run", "Time", "Picture", "First token", "Step", "Tokens/s", "Decoding"],
    ...rows.map(([name, run]) => [
      name,
      seconds(run.durationMs),
      seconds(run.pictureMs),
      milliseconds(run.firstTokenMs),
      milliseconds(run.stepMs),
      run.tokensPerSecond.toFixed(1),
      seconds(run.decodeMs),
    ]),
  ]);
  const bandwidth = `${formatBytes(report.bandwidthBytesPerSecond)}/s`;
  return [
    `${n} picture${n === 1 ? "" : "s"} at once, guidance ${report.guidance}, ${report.model} on ${report.device}`,
    "",
    table,
    "",
    `Init time     ${milliseconds(report.loadMs)}`,
    `Picture       ${seconds(average.pictureMs)} on average: ${report.imageTokens} steps and ${seconds(average.decodeMs)} of decoding`,
    `Peak memory   ${formatBytes(report.peakRssBytes)}`,
    `Floor         ${milliseconds(stepFloorMs(report))} a step: ${formatBytes(report.stepWeightBytes)} of weights read at ${bandwidth} (measured)`,
  ].join("\n");
}
