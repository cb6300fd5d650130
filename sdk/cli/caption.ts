import { buffer } from "node:stream/consumers";
import type { Command } from "commander";
import {
  VLMPipeline,
  type VLMChunk,
  type VLMLoadOptions,
  type VLMMessage,
  type VLMOptions,
  type VLMResult,
} from "../index.js";
import { eachFile, type FileWork } from "./each-file.js";
import { EXIT, UsageError } from "./exit-codes.js";
import { JsonOutput, nameOfInput, PrintedOutput, type FileOutput } from "./file-output.js";
import {
  addGenerationFlags,
  addLoadFlags,
  toGenerationOptions,
  toLoadOptions,
  type GenerationFlags,
  type LoadFlags,
} from "./flags.js";
import { interruptibleLoad, Interrupts } from "./interrupts.js";
import { showActivity, withLoadProgress, write, type Terminal } from "./terminal.js";

/** What the flags of {@link addVisionFlags} give. */
export interface VisionFlags extends LoadFlags {
  visionDevice?: string;
}

/** Flags about loading a vision-language model. */
export function addVisionFlags(command: Command): Command {
  return addLoadFlags(command, "model folder: OpenVINO IR (LLaVA, Janus) or a Janus checkpoint").option(
    "--vision-device <device>",
    "device of the vision encoder, where it is another one",
  );
}

/** The SDK's load options of a vision-language model for the flags. */
export function toVisionLoadOptions(flags: VisionFlags): VLMLoadOptions {
  return { ...toLoadOptions(flags), ...(flags.visionDevice !== undefined && { visionDevice: flags.visionDevice }) };
}

interface CaptionFlags extends VisionFlags, GenerationFlags {
  prompt: string;
  alpha?: "flatten" | "drop";
  json?: true;
}

/** `pergola caption`: what is to be seen in image files. */
export function addCaptionCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("caption")
    .description("describe pictures, or answer a question about each")
    .argument("<image...>", 'image files or http(s) URLs; "-" reads one from stdin')
    .option("-p, --prompt <text>", "what to ask about each picture", "Describe the image.")
    .option("--json", "print the result object as JSON; an array for several files");
  addVisionFlags(command);
  addGenerationFlags(command).action((inputs: string[], flags: CaptionFlags) => run(inputs, flags, terminal));
}

/** What is needed of a pipeline; tests hand in their own. */
export interface Captioner {
  stream(prompt: VLMMessage[], options: VLMOptions): CaptionStream;
}

/** What is needed of a stream of text. */
export interface CaptionStream extends AsyncIterable<VLMChunk> {
  readonly result: Promise<VLMResult>;
  stop(): Promise<void>;
}

async function run(inputs: string[], flags: CaptionFlags, terminal: Terminal): Promise<void> {
  checkInputs(inputs, terminal);
  const vlm = await interruptibleLoad((signal) =>
    withLoadProgress(terminal.errors, (onProgress) =>
      VLMPipeline.load(flags.model, { ...toVisionLoadOptions(flags), onProgress, signal }),
    ),
  );
  const interrupts = new Interrupts();
  try {
    const question = { prompt: flags.prompt, options: toGenerationOptions(flags), json: flags.json === true };
    const failures = await captionFiles(inputs, vlm, question, { terminal, interrupts });
    if (failures > 0) process.exitCode = EXIT.error;
  } finally {
    interrupts.close();
    await vlm.dispose();
  }
}

function checkInputs(inputs: readonly string[], { input }: Terminal): void {
  const fromStdin = inputs.filter((name) => name === "-").length;
  if (fromStdin > 1) throw new UsageError('"-" reads stdin, which can be done once.');
  if (fromStdin > 0 && input.isTTY) throw new UsageError('"-" reads an image file from stdin: pipe one in.');
}

/**
 * Describes pictures one after the other, as {@link eachFile} does. Text is printed while it comes.
 *
 * @returns how many files failed
 */
export function captionFiles(
  inputs: readonly string[],
  vlm: Captioner,
  question: { prompt: string; options: VLMOptions; json: boolean },
  { terminal, interrupts }: { terminal: Terminal; interrupts: Interrupts },
): Promise<number> {
  const { prompt, options, json } = question;
  const output: FileOutput<VLMResult> = json
    ? new JsonOutput(inputs.length, terminal)
    : new PrintedCaptions(inputs.length > 1, terminal);
  const start = async (input: string): Promise<FileWork<VLMResult>> => {
    const image = input === "-" ? await buffer(terminal.input) : input;
    const text = { type: "text" as const, text: prompt };
    const stream = vlm.stream([{ role: "user", content: [{ type: "image", image }, text] }], options);
    return { finished: follow(stream, input, json, terminal), stop: () => void stream.stop() };
  };
  const valueName = "messages[0].content[0].image";
  return eachFile(inputs, {
    start,
    output,
    filePath: /\bimage\b/,
    valueName,
    doing: "describing",
    terminal,
    interrupts,
  });
}

async function follow(stream: CaptionStream, input: string, quiet: boolean, terminal: Terminal): Promise<VLMResult> {
  const activity = showActivity(`Looking at ${nameOfInput(input)}`, terminal.errors);
  try {
    for await (const { text } of stream) {
      if (quiet || text === "") continue;
      activity.end();
      await write(terminal.output, text);
    }
    return await stream.result;
  } finally {
    activity.end();
  }
}

/** Ends what was printed while it came. */
class PrintedCaptions extends PrintedOutput<VLMResult> {
  async deliver(_: string, result: VLMResult | undefined): Promise<void> {
    if (result) await write(this.terminal.output, "\n");
  }
}
