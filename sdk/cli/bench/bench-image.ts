import type { Command } from "commander";
import { ImagePipeline } from "../../index.js";
import { imageBenchReport, toImageRun, type ImageBenchReport, type ImageRun } from "./bench-image-report.js";
import { Interrupted } from "../exit-codes.js";
import { parseCount, toLoadOptions } from "../flags.js";
import { addImageFlags, toImageOptions, type ImageFlags } from "../imagine.js";
import { interruptible } from "../interrupts.js";
import { meanOf } from "./bench-report.js";
import { measureReadBandwidth } from "./memory-bandwidth.js";
import { progressBar, showActivity, withLoadProgress, type Activity, type Terminal } from "../terminal.js";

interface ImageBenchFlags extends ImageFlags {
  prompt: string;
  runs: number;
  json?: true;
}

/** Tokens of the picture that is begun before anything is measured. */
const WARM_UP_TOKENS = 8;

/** `pergola bench image`: what this machine does with a model that makes pictures. */
export function addImageBench(bench: Command, terminal: Terminal): void {
  const command = bench
    .command("image")
    .description("init time, picture latency and peak memory of a model that makes pictures")
    .option(
      "-p, --prompt <text>",
      "what is to be seen",
      "A red bicycle leaning against a stone wall, in morning light.",
    )
    .option("--runs <n>", "measured runs, after the beginning of one that is not counted", parseCount, 3)
    .option("--json", "print the figures as JSON");
  addImageFlags(command).action((flags: ImageBenchFlags) => run(flags, terminal));
}

async function run(flags: ImageBenchFlags, terminal: Terminal): Promise<void> {
  const controller = new AbortController();
  const report = await interruptible(
    () => measure(flags, terminal, controller.signal),
    () => controller.abort(new Interrupted("interrupted")),
  );
  terminal.output.write(flags.json ? `${JSON.stringify(report, null, 2)}\n` : `${imageBenchReport(report)}\n`);
}

async function measure(flags: ImageBenchFlags, { errors }: Terminal, signal: AbortSignal): Promise<ImageBenchReport> {
  const started = performance.now();
  const image = await withLoadProgress(errors, (onProgress) =>
    // Every run must compute its prompt anew.
    ImagePipeline.load(flags.model, { ...toLoadOptions(flags), prefixCaching: false, onProgress, signal }),
  );
  const loadMs = performance.now() - started;
  try {
    const { imageTokens, stepWeightBytes, guidance } = image.info;
    const runs = await measureRuns(image, flags, errors, signal);
    // In kilobytes on Linux. Measuring the bandwidth takes memory of its own.
    const peakRssBytes = process.resourceUsage().maxRSS * 1024;
    const activity = showActivity("Measuring memory bandwidth", errors);
    const bandwidthBytesPerSecond = await measureReadBandwidth().finally(() => activity.end());
    return {
      model: flags.model,
      device: flags.device ?? "CPU",
      prompt: flags.prompt,
      n: flags.n ?? 1,
      guidance: flags.guidance ?? guidance,
      imageTokens,
      ...{ loadMs, peakRssBytes, stepWeightBytes, bandwidthBytesPerSecond },
      runs,
      average: meanOf(runs),
    };
  } finally {
    await image.dispose();
  }
}

async function measureRuns(
  image: ImagePipeline,
  flags: ImageBenchFlags,
  errors: NodeJS.WriteStream,
  signal: AbortSignal,
): Promise<ImageRun[]> {
  const activity = showActivity("Beginning a picture (not counted)", errors);
  const options = { ...toImageOptions(flags), signal };
  try {
    // The first steps and the first decoding of a fresh model are slower than the rest.
    for await (const { token } of image.stream(flags.prompt, options)) if (token >= WARM_UP_TOKENS) break;
    const runs: ImageRun[] = [];
    while (runs.length < flags.runs) {
      runs.push(await measureRun(image, flags.prompt, options, activity, `Run ${runs.length + 1} of ${flags.runs}`));
    }
    return runs;
  } finally {
    activity.end();
  }
}

async function measureRun(
  image: ImagePipeline,
  prompt: string,
  options: Parameters<ImagePipeline["stream"]>[1],
  activity: Activity,
  name: string,
): Promise<ImageRun> {
  const stream = image.stream(prompt, options);
  for await (const { token, of } of stream) activity.say(`${name} ${progressBar(token / of)}`);
  return toImageRun(await stream.result);
}
