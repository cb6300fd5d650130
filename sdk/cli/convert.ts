import type { Command } from "commander";
import { convertModel } from "../index.js";
import { Interrupted } from "./exit-codes.js";
import { addWeightFlags, toWeightOptions, type WeightFlags } from "./flags.js";
import { interruptible } from "./interrupts.js";
import { formatBytes } from "./table.js";
import { progressBar, showActivity, type Terminal } from "./terminal.js";

interface ConvertFlags extends WeightFlags {
  out: string;
  overwrite?: true;
  json?: true;
}

/** `pergola convert`: makes an OpenVINO folder of a checkpoint. */
export function addConvertCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("convert")
    .description("convert a checkpoint to OpenVINO IR: language models, Janus, Whisper")
    .argument("<checkpoint>", "folder of the checkpoint")
    .requiredOption("-o, --out <folder>", "folder to make; new or empty")
    .option("--overwrite", "replace an earlier conversion in the folder")
    .option("--json", "print the result as JSON");
  addWeightFlags(command).action((checkpoint: string, flags: ConvertFlags) => run(checkpoint, flags, terminal));
}

async function run(checkpoint: string, flags: ConvertFlags, { output, errors }: Terminal): Promise<void> {
  const controller = new AbortController();
  const activity = showActivity("Converting", errors);
  try {
    const result = await interruptible(
      () =>
        convertModel(checkpoint, flags.out, {
          ...toWeightOptions(flags),
          ...(flags.overwrite && { overwrite: true }),
          onProgress: ({ fraction }) => activity.say(`Converting ${progressBar(fraction)}`),
          signal: controller.signal,
        }),
      () => controller.abort(new Interrupted("interrupted while converting")),
    );
    activity.end();
    const groups =
      result.groupSize === undefined
        ? ""
        : result.groupSize === -1
          ? " (a scale a row)"
          : ` (groups of ${result.groupSize})`;
    const text = `${result.path}: ${result.architecture}, ${result.weights} weights${groups}, ${formatBytes(result.bytes)}`;
    output.write(`${flags.json ? JSON.stringify(result, null, 2) : text}\n`);
  } catch (error) {
    activity.end();
    if (error instanceof Interrupted) errors.write("Interrupted. The same command goes on where this one was.\n");
    throw error;
  } finally {
    activity.end();
  }
}
