import type { Command } from "commander";
import { VLMPipeline, type VLMMessage, type VLMResult } from "../../index.js";
import { toVlmRun, vlmBenchReport, type VlmBenchReport, type VlmRun } from "./bench-vlm-report.js";
import { Interrupted } from "../exit-codes.js";
import { collect, parseCount } from "../flags.js";
import { interruptible } from "../interrupts.js";
import { meanOf } from "./bench-report.js";
import { showActivity, withLoadProgress, type Terminal } from "../terminal.js";
import { addVisionFlags, toVisionLoadOptions, type VisionFlags } from "../caption.js";

interface VlmBenchFlags extends VisionFlags {
  image: string[];
  prompt: string;
  maxNewTokens: number;
  runs: number;
  json?: true;
}

/** `pergola bench vlm`: what this machine does with a vision-language model and a picture. */
export function addVlmBench(bench: Command, terminal: Terminal): void {
  const command = bench
    .command("vlm")
    .description("init time, first-token latency with image preparation, later-token throughput and peak memory")
    .requiredOption("-i, --image <file>", "the picture; several may be given", collect)
    .option("-p, --prompt <text>", "what to ask about it", "Describe the image.")
    .option("--max-new-tokens <n>", "tokens of the answer", parseCount, 64)
    .option("--runs <n>", "measured runs, after one that is not counted", parseCount, 5)
    .option("--json", "print the figures as JSON");
  addVisionFlags(command).action((flags: VlmBenchFlags) => run(flags, terminal));
}

async function run(flags: VlmBenchFlags, terminal: Terminal): Promise<void> {
  const controller = new AbortController();
  const report = await interruptible(
    () => measure(flags, terminal, controller.signal),
    () => controller.abort(new Interrupted("interrupted")),
  );
  terminal.output.write(flags.json ? `${JSON.stringify(report, null, 2)}\n` : `${vlmBenchReport(report)}\n`);
}

async function measure(flags: VlmBenchFlags, { errors }: Terminal, signal: AbortSignal): Promise<VlmBenchReport> {
  const started = performance.now();
  const vlm = await withLoadProgress(errors, (onProgress) =>
    // Every run must read, encode and compute the picture anew.
    VLMPipeline.load(flags.model, {
      ...toVisionLoadOptions(flags),
      ...{ prefixCaching: false, imageCacheBytes: 0, onProgress, signal },
    }),
  );
  const loadMs = performance.now() - started;
  try {
    const { runs, text } = await measureRuns(vlm, flags, errors, signal);
    return {
      model: flags.model,
      device: flags.device ?? "CPU",
      images: flags.image,
      prompt: flags.prompt,
      loadMs,
      // In kilobytes on Linux.
      peakRssBytes: process.resourceUsage().maxRSS * 1024,
      text,
      runs,
      average: meanOf(runs),
    };
  } finally {
    await vlm.dispose();
  }
}

async function measureRuns(
  vlm: VLMPipeline,
  flags: VlmBenchFlags,
  errors: NodeJS.WriteStream,
  signal: AbortSignal,
): Promise<{ runs: VlmRun[]; text: string }> {
  const content = [
    ...flags.image.map((image) => ({ type: "image" as const, image })),
    { type: "text" as const, text: flags.prompt },
  ];
  const messages: VLMMessage[] = [{ role: "user", content }];
  // The length of the answer must not depend on what the model says.
  const options = { maxNewTokens: flags.maxNewTokens, ignoreEos: true, temperature: 0, signal };
  const activity = showActivity("First run (not counted)", errors);
  try {
    let result: VLMResult = await vlm.generate(messages, options);
    const runs: VlmRun[] = [];
    while (runs.length < flags.runs) {
      activity.say(`Run ${runs.length + 1} of ${flags.runs}`);
      result = await vlm.generate(messages, options);
      runs.push(toVlmRun(result));
    }
    return { runs, text: result.text };
  } finally {
    activity.end();
  }
}
