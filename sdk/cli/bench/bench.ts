import type { Command } from "commander";
import { inspectModel, LLMPipeline, type LLMResult } from "../../index.js";
import { addLoadFlags, LANGUAGE_MODEL_HELP, parseCount, toLoadOptions, type LoadFlags } from "../flags.js";
import { addImageBench } from "./bench-image.js";
import { addVlmBench } from "./bench-vlm.js";
import { addWhisperBench } from "./bench-whisper.js";
import { benchReport, summarize, type BenchReport, type BenchRun } from "./bench-report.js";
import { interruptible } from "../interrupts.js";
import { Interrupted } from "../exit-codes.js";
import { measureReadBandwidth } from "./memory-bandwidth.js";
import { showActivity, withLoadProgress, type Terminal } from "../terminal.js";

interface BenchFlags extends LoadFlags {
  promptTokens: number;
  maxNewTokens: number;
  runs: number;
  concurrency: number;
  json?: true;
}

/** Words for prompts of any length; their order differs between prompts. */
const WORDS = distinctWords(
  "the river runs past old stone houses and a small market where people sell bread fruit and flowers in the " +
    "morning light while boats wait near the bridge for travellers who want to see mountains forests and lakes",
);

function distinctWords(text: string): string[] {
  return [...new Set(text.split(" "))];
}

/** A prompt with about the wanted number of tokens, different for each `variant` from its first word on. */
export function benchPrompt(count: (text: string) => number, tokens: number, variant: number): string {
  const words: string[] = [];
  const next = (): string => WORDS[(words.length * 7 + variant * 13 + (words.length % 5) * variant) % WORDS.length]!;
  // Most words are one token; the count decides.
  while (words.length < tokens) words.push(next());
  let excess = count(words.join(" ")) - tokens;
  while (excess > 0 && words.length > 1) {
    words.length = Math.max(1, words.length - Math.max(1, Math.floor(excess / 2)));
    excess = count(words.join(" ")) - tokens;
  }
  return words.join(" ");
}

/** `pergola bench`: what this machine does with a model. */
export function addBenchCommand(program: Command, terminal: Terminal): void {
  const bench = program.command("bench").description("measure a model on this machine");
  const command = bench
    .command("llm")
    .description("load time, first-token time, later-token time, throughput and peak memory of a language model")
    .option("--prompt-tokens <n>", "tokens of the prompt", parseCount, 42)
    .option("--max-new-tokens <n>", "tokens of the answer", parseCount, 64)
    .option("--runs <n>", "measured runs, after one that is not counted", parseCount, 3)
    .option("--concurrency <n>", "requests at once", parseCount, 1)
    .option("--json", "print the figures as JSON");
  addLoadFlags(command, LANGUAGE_MODEL_HELP).action((flags: BenchFlags) => run(flags, terminal));
  addVlmBench(bench, terminal);
  addWhisperBench(bench, terminal);
  addImageBench(bench, terminal);
}

async function run(flags: BenchFlags, terminal: Terminal): Promise<void> {
  const controller = new AbortController();
  const report = await interruptible(
    () => measure(flags, terminal, controller.signal),
    () => controller.abort(new Interrupted("interrupted")),
  );
  terminal.output.write(flags.json ? `${JSON.stringify(report, null, 2)}\n` : `${benchReport(report)}\n`);
}

async function measure(flags: BenchFlags, { errors }: Terminal, signal: AbortSignal): Promise<BenchReport> {
  const activity = showActivity("Measuring memory bandwidth", errors);
  const bandwidth = await measureReadBandwidth().finally(() => activity.end());
  const started = performance.now();
  const llm = await withLoadProgress(errors, (onProgress) =>
    // Prompts must be computed, not found again.
    LLMPipeline.load(flags.model, { ...toLoadOptions(flags), prefixCaching: false, onProgress, signal }),
  );
  const loadMs = performance.now() - started;
  try {
    const runs = await measureRuns(llm, flags, errors, signal);
    return {
      model: flags.model,
      device: flags.device ?? "CPU",
      concurrency: flags.concurrency,
      loadMs,
      weightBytes: (await inspectModel(flags.model)).weightBytes,
      bandwidthBytesPerSecond: bandwidth,
      // In kilobytes on Linux.
      peakRssBytes: process.resourceUsage().maxRSS * 1024,
      runs,
      summary: summarize(runs),
    };
  } finally {
    await llm.dispose();
  }
}

async function measureRuns(
  llm: LLMPipeline,
  flags: BenchFlags,
  errors: NodeJS.WriteStream,
  signal: AbortSignal,
): Promise<BenchRun[]> {
  const activity = showActivity("First run (not counted)", errors);
  try {
    const runs: BenchRun[] = [];
    for (let number = 0; number <= flags.runs; number++) {
      const prompts = Array.from({ length: flags.concurrency }, (_, index) =>
        benchPrompt((text) => llm.tokenizer.count(text), flags.promptTokens, number * flags.concurrency + index),
      );
      const options = {
        maxNewTokens: flags.maxNewTokens,
        ignoreEos: true,
        temperature: 0,
        applyChatTemplate: false,
        signal,
      };
      const started = performance.now();
      const results: LLMResult[] = await llm.generate(prompts, options);
      const measured = toRun(results, performance.now() - started);
      if (number > 0) runs.push(measured);
      activity.say(`Run ${Math.min(number + 1, flags.runs)} of ${flags.runs}`);
    }
    return runs;
  } finally {
    activity.end();
  }
}

function toRun(results: LLMResult[], durationMs: number): BenchRun {
  const mean = (pick: (result: LLMResult) => number): number =>
    results.reduce((sum, result) => sum + pick(result), 0) / results.length;
  const completionTokens = results.reduce((sum, { usage }) => sum + usage.completionTokens, 0);
  return {
    promptTokens: Math.round(mean(({ usage }) => usage.promptTokens)),
    completionTokens,
    ttftMs: mean(({ metrics }) => metrics.ttftMs),
    tpotMs: mean(({ metrics }) => metrics.tpotMs),
    tokensPerSecond: completionTokens / (durationMs / 1000),
    durationMs,
  };
}
