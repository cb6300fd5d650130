import { mkdir, stat } from "node:fs/promises";
import path from "node:path";
import { formatTranscript, type SubtitleOptions, type Transcript, type TranscriptFormat } from "../index.js";
import { UsageError } from "./exit-codes.js";
import { JsonOutput, nameOfInput, PrintedOutput, type FileOutput } from "./file-output.js";
import { write, type Terminal } from "./terminal.js";
import { writeWhole } from "./write-file.js";

/** What decides where transcripts go and in what form. */
export interface OutputFlags {
  format?: TranscriptFormat;
  out?: string;
  json?: true;
  maxLineLength?: number;
  maxLines?: number;
  highlightWords?: true;
}

/** Where transcripts go. */
export interface TranscriptOutput extends FileOutput<Transcript> {
  /** Text is printed while it comes. */
  streams: boolean;
}

const EXTENSIONS: ReadonlySet<string> = new Set<TranscriptFormat>(["txt", "srt", "vtt", "json"]);

function formatFor({ format, json, out }: OutputFlags): TranscriptFormat {
  if (json && format !== undefined && format !== "json")
    throw new UsageError(`--json and --format ${format} exclude each other.`);
  if (json && out !== undefined) throw new UsageError("--json prints to stdout; with --out use --format json.");
  const extension = path.extname(out ?? "").slice(1);
  return json ? "json" : (format ?? (EXTENSIONS.has(extension) ? (extension as TranscriptFormat) : "txt"));
}

/** What a file's transcript is called in a folder. */
function outputName(input: string, format: TranscriptFormat): string {
  return `${input === "-" ? nameOfInput(input) : path.parse(input).name}.${format}`;
}

/**
 * Decides where the transcripts of these files go.
 *
 * @throws UsageError for flags that do not fit together, OptionError for a layout that the format does not have
 */
export async function planOutput(
  inputs: readonly string[],
  flags: OutputFlags,
  terminal: Terminal,
): Promise<TranscriptOutput> {
  const format = formatFor(flags);
  const layout = toLayout(flags);
  // What is wrong with the layout must be told before an hour of audio is transcribed.
  formatTranscript({ segments: [] }, format, layout);
  if (flags.out !== undefined) return planFiles(inputs, flags.out, format, layout);
  if (format === "json") return new JsonTranscripts(inputs.length, terminal);
  if (inputs.length > 1 && format !== "txt") {
    throw new UsageError(`Several files as ${format} need a folder: add --out FOLDER.`);
  }
  return new PrintedTranscripts(format, layout, inputs.length > 1, terminal);
}

function toLayout({ maxLineLength, maxLines, highlightWords }: OutputFlags): SubtitleOptions {
  return {
    ...(maxLineLength !== undefined && { maxLineLength }),
    ...(maxLines !== undefined && { maxLines }),
    ...(highlightWords && { highlightWords }),
  };
}

async function planFiles(
  inputs: readonly string[],
  out: string,
  format: TranscriptFormat,
  layout: SubtitleOptions,
): Promise<TranscriptOutput> {
  const existing = await stat(out).catch(() => undefined);
  const isFolder = existing?.isDirectory() ?? (/[\\/]$/.test(out) || inputs.length > 1);
  if (!isFolder && inputs.length > 1) throw new UsageError(`--out ${out} is a file; several files need a folder.`);
  if (!isFolder) return new WrittenTranscripts(format, layout, () => out);
  const names = inputs.map((input) => outputName(input, format));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new UsageError(`Two of the files would become ${path.join(out, twice)}; transcribe them apart.`);
  return new WrittenTranscripts(format, layout, (input) => path.join(out, outputName(input, format)));
}

class WrittenTranscripts implements TranscriptOutput {
  readonly streams = false;

  constructor(
    private readonly format: TranscriptFormat,
    private readonly layout: SubtitleOptions,
    private readonly fileFor: (input: string) => string,
  ) {}

  /** Makes the folder, so that one that cannot be made is found before the work and not after it. */
  async begin(input: string): Promise<void> {
    await mkdir(path.dirname(path.resolve(this.fileFor(input))), { recursive: true });
  }

  async deliver(input: string, transcript: Transcript | undefined): Promise<void> {
    if (transcript) await writeWhole(this.fileFor(input), formatTranscript(transcript, this.format, this.layout));
  }

  async end(): Promise<void> {
    // Every file is complete already.
  }
}

class JsonTranscripts extends JsonOutput<Transcript> implements TranscriptOutput {
  readonly streams = false;
}

class PrintedTranscripts extends PrintedOutput<Transcript> implements TranscriptOutput {
  readonly streams: boolean;

  constructor(
    private readonly format: TranscriptFormat,
    private readonly layout: SubtitleOptions,
    withHeadings: boolean,
    terminal: Terminal,
  ) {
    super(withHeadings, terminal);
    this.streams = format === "txt";
  }

  async deliver(_: string, transcript: Transcript | undefined): Promise<void> {
    if (transcript && !this.streams) {
      await write(this.terminal.output, formatTranscript(transcript, this.format, this.layout));
    }
  }
}
