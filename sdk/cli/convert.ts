import { Option, type Command } from "commander";
import { convertModel, type ConvertOptions } from "../index.js";
import { Interrupted } from "./exit-codes.js";
import { parseNumber } from "./flags.js";
import { interruptible } from "./interrupts.js";
import { formatBytes } from "./table.js";
import { progressBar, showActivity, type Terminal } from "./terminal.js";

interface ConvertFlags {
  out: string;
  weights?: "f16" | "int8" | "int4";
  groupSize?: number;
  overwrite?: true;
  json?: true;
}

/** `pergola convert`: makes an OpenVINO folder of a checkpoint. */
export function addConvertCommand(program: Command, terminal: Terminal): void {
  program
    .command("convert")
    .description("convert a checkpoint to OpenVINO IR: language models, Janus, Whisper")
    .argument("<checkpoint>", "folder of the checkpoint")
    .requiredOption("-o, --out <folder>", "folder to make; new or empty")
    .addOption(
      new Option("--weights <form>", "how matrices are stored (default: f16)").choices(["f16", "int8", "int4"]),
    )
    .option(
      "--group-size <n>",
      "with int4: values that share a scale: 32, 64 (default), 128, or -1 for a row",
      parseNumber,
    )
    .option("--overwrite", "replace an earlier conversion in the folder")
    .option("--json", "print the result as JSON")
    .action((checkpoint: string, flags: ConvertFlags) => run(checkpoint, flags, terminal));
}

async function run(checkpoint: string, flags: ConvertFlags, { output, errors }: Terminal): Promise<void> {
  const controller = new AbortController();
  const activity = showActivity("Converting", errors);
  try {
    const result = await interruptible(
      () =>
        convertModel(checkpoint, flags.out, {
          ...(flags.weights && { weights: flags.weights }),
          // The SDK names those that there are.
          ...(flags.groupSize !== undefined && {
            groupSize: flags.groupSize as NonNullable<ConvertOptions["groupSize"]>,
          }),
          ...(flags.overwrite && { overwrite: true }),
          onProgress: (fraction) => activity.say(`Converting ${progressBar(fraction)}`),
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
