import type { Command } from "commander";
import {
  ImagePipeline,
  type ImageOptions,
  type ImageResult,
  type ImageStep,
  type ImageStreamOptions,
} from "../index.js";
import { Interrupted } from "./exit-codes.js";
import { addLoadFlags, parseNumber, toLoadOptions, type LoadFlags } from "./flags.js";
import { interruptibleLoad, Interrupts } from "./interrupts.js";
import { PictureFiles } from "./picture-files.js";
import { progressBar, showActivity, withLoadProgress, write, type Activity, type Terminal } from "./terminal.js";

/** What the flags of {@link addImageFlags} give. */
export interface ImageFlags extends LoadFlags {
  n?: number;
  seed?: number;
  guidance?: number;
  temperature?: number;
  topK?: number;
  topP?: number;
}

interface ImagineFlags extends ImageFlags {
  out?: string;
  previews?: number | true;
  json?: true;
}

/** Tokens between two previews where the flag does not tell: four rows of a picture of Janus-Pro. */
const PREVIEW_EVERY = 96;

/** Flags about loading a model that makes pictures, and about how it makes them. */
export function addImageFlags(command: Command): Command {
  return addLoadFlags(command, "folder of a Janus model: a checkpoint, or OpenVINO IR")
    .option("-n, --n <count>", "pictures to make, computed together", parseNumber)
    .option("--seed <n>", "the same seed gives the same picture; picture i has seed + i", parseNumber)
    .option("-g, --guidance <x>", "how closely the pictures follow the prompt; 1 = off, twice as fast", parseNumber)
    .option("-t, --temperature <t>", "0 takes the likeliest token at each step", parseNumber)
    .option("--top-k <k>", "sample among this many likeliest tokens (0 = no limit)", parseNumber)
    .option("--top-p <p>", "sample among the likeliest tokens with this total probability", parseNumber);
}

const IMAGE_FLAGS = ["n", "seed", "guidance", "temperature", "topK", "topP"] as const;

/** The SDK's options for the flags. Flags not given stay absent. */
export function toImageOptions(flags: ImageFlags): ImageOptions {
  return Object.fromEntries(IMAGE_FLAGS.flatMap((name) => (flags[name] === undefined ? [] : [[name, flags[name]]])));
}

/** `pergola imagine`: pictures of what a text describes. */
export function addImagineCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("imagine")
    .description("make pictures of what a text describes")
    .argument("<prompt>", "what is to be seen")
    .option(
      "-o, --out <path>",
      "file to write (.png, .jpg, .webp; numbered for several), or a folder; without it a new file named after the prompt",
    )
    .option("--previews [every]", "write NAME.preview.png while a picture is made, every so many tokens", parseNumber)
    .option("--json", "print the result object as JSON, with the images as file paths");
  addImageFlags(command).action((prompt: string, flags: ImagineFlags) => run(prompt, flags, terminal));
}

async function run(prompt: string, flags: ImagineFlags, terminal: Terminal): Promise<void> {
  const files = await PictureFiles.plan(flags.out, prompt);
  const image = await interruptibleLoad((signal) =>
    withLoadProgress(terminal.errors, (onProgress) =>
      ImagePipeline.load(flags.model, { ...toLoadOptions(flags), onProgress, signal }),
    ),
  );
  const interrupts = new Interrupts();
  try {
    await imagine(
      prompt,
      image,
      { options: toStreamOptions(flags), files, json: flags.json === true },
      terminal,
      interrupts,
    );
  } finally {
    interrupts.close();
    await image.dispose();
  }
}

function toStreamOptions(flags: ImagineFlags): ImageStreamOptions {
  const { previews } = flags;
  return {
    ...toImageOptions(flags),
    ...(previews !== undefined && { previewEvery: previews === true ? PREVIEW_EVERY : previews }),
  };
}

/** What is needed of a pipeline; tests hand in their own. */
export interface Painter {
  stream(prompt: string, options: ImageStreamOptions): ImageStream;
}

/** What is needed of a stream of steps. */
export interface ImageStream extends AsyncIterable<ImageStep> {
  readonly result: Promise<ImageResult>;
  stop(): Promise<void>;
}

/**
 * Makes pictures, writes them and prints their paths. Ctrl-C ends the making: the pictures are written as far as they are made.
 *
 * @throws Interrupted after Ctrl-C
 */
export async function imagine(
  prompt: string,
  image: Painter,
  { options, files, json }: { options: ImageStreamOptions; files: PictureFiles; json: boolean },
  terminal: Terminal,
  interrupts: Interrupts,
): Promise<void> {
  const stream = image.stream(prompt, options);
  let interrupted = false;
  let result: ImageResult;
  try {
    result = await interrupts.during(
      () => follow(stream, files, terminal),
      () => {
        interrupted = true;
        void stream.stop();
      },
    );
  } finally {
    await files.removePreviews();
  }
  const paths = await files.save(result.images, interrupted);
  if (json) await write(terminal.output, `${JSON.stringify({ ...result, images: paths }, null, 2)}\n`);
  else {
    await write(terminal.output, paths.map((path) => `${path}\n`).join(""));
    terminal.errors.write(`${summary(result)}\n`);
  }
  if (interrupted) throw new Interrupted("interrupted while making pictures");
}

async function follow(stream: ImageStream, files: PictureFiles, terminal: Terminal): Promise<ImageResult> {
  const progress = new StepProgress(showActivity("Reading the prompt", terminal.errors));
  try {
    for await (const step of stream) {
      progress.say(step);
      // The finished pictures get their own names.
      if (step.previews && step.previewToken! < step.of) await files.savePreviews(step.previews);
    }
    return await stream.result;
  } finally {
    progress.end();
  }
}

/** Tokens made, and the time that is left, in one line. */
export class StepProgress {
  #started: { at: number; token: number } | undefined;

  constructor(
    private readonly activity: Activity,
    private readonly now: () => number = () => performance.now(),
  ) {}

  say({ token, of }: ImageStep): void {
    // The first token takes as long as the prompt does.
    this.#started ??= { at: this.now(), token };
    const done = token - this.#started.token;
    const left = done > 0 ? ((this.now() - this.#started.at) / done) * (of - token) : undefined;
    const time = token < of ? timeLeft(left) : ", decoding";
    this.activity.say(`${progressBar(token / of)}  ${token} of ${of} tokens${time}`);
  }

  end(): void {
    this.activity.end();
  }
}

function timeLeft(ms: number | undefined): string {
  if (ms === undefined) return "";
  const seconds = Math.ceil(ms / 1000);
  return seconds < 100 ? `, ${seconds} s left` : `, ${Math.ceil(seconds / 60)} min left`;
}

function summary({ seeds, complete, tokens, metrics }: ImageResult): string {
  const seed = seeds.length > 1 ? `seeds ${seeds[0]} to ${seeds.at(-1)}` : `seed ${seeds[0]}`;
  const made = complete ? "" : `, ended after ${Math.max(...tokens.map(({ length }) => length))} tokens`;
  return `${seed}, ${(metrics.durationMs / 1000).toFixed(1)} s${made}`;
}
