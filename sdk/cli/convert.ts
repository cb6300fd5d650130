import { Option, type Command } from "commander";
import { convertModel } from "../index.js";
import { Interrupted } from "./exit-codes.js";
import { interruptible } from "./interrupts.js";
import { formatBytes } from "./table.js";
import { progressBar, showActivity, type Terminal } from "./terminal.js";

interface ConvertFlags {
  out: string;
  weights?: "f16" | "int8";
  overwrite?: true;
  json?: true;
}

/** `pergola convert`: makes an OpenVINO folder of a checkpoint. */
export function addConvertCommand(program: Command, terminal: Terminal): void {
  program
    .command("convert")
    .description("convert a Whisper checkpoint (CTranslate2 or Hugging Face folder) to OpenVINO IR")
    .argument("<checkpoint>", "folder of the checkpoint")
    .requiredOption("-o, --out <folder>", "folder to make; new or empty")
    .addOption(new Option("--weights <form>", "how matrices are stored (default: f16)").choices(["f16", "int8"]))
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
          ...(flags.overwrite && { overwrite: true }),
          onProgress: (fraction) => activity.say(`Converting ${progressBar(fraction)}`),
          signal: controller.signal,
        }),
      () => controller.abort(new Interrupted("interrupted while converting")),
    );
    activity.end();
    const text = `${result.path}: ${result.architecture}, ${result.weights} weights, ${formatBytes(result.bytes)}`;
    output.write(`${flags.json ? JSON.stringify(result, null, 2) : text}\n`);
  } finally {
    activity.end();
  }
}
