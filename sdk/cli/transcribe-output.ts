import { mkdir, stat } from "node:fs/promises";
import path from "node:path";
import { writeWhole } from "../core/write-whole.js";
import { formatTranscript, type SubtitleOptions, type Transcript, type TranscriptFormat } from "../index.js";
import { UsageError } from "./exit-codes.js";
import { JsonOutput, nameOfInput, PrintedOutput, type FileOutput } from "./file-output.js";
import { write, type Terminal } from "./terminal.js";
import { nameForPart } from "./partial-name.js";

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
  return json ? "json" : (format ?? formatOfEnding(out) ?? "txt");
}

/** What a file name's ending says, if it is one of ours. */
function formatOfEnding(out: string | undefined): TranscriptFormat | undefined {
  const ending = path
    .extname(out ?? "")
    .slice(1)
    .toLowerCase();
  return EXTENSIONS.has(ending) ? (ending as TranscriptFormat) : undefined;
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
  if (flags.out !== undefined)
    return planFiles(inputs, flags.out, { format, layout, named: flags.format !== undefined }, terminal);
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
  { format, layout, named }: { format: TranscriptFormat; layout: SubtitleOptions; named: boolean },
  terminal: Terminal,
): Promise<TranscriptOutput> {
  const existing = await stat(out).catch(() => undefined);
  const isFolder = existing?.isDirectory() ?? (/[\\/]$/.test(out) || inputs.length > 1);
  if (!isFolder && inputs.length > 1) throw new UsageError(`--out ${out} is a file; several files need a folder.`);
  if (!isFolder) {
    const ending = path.extname(out);
    if (ending !== "" && !named && formatOfEnding(out) === undefined) {
      const known = [...EXTENSIONS].map((name) => `.${name}`).join(", ");
      throw new UsageError(
        `--out ${out}: "${ending}" tells no format; there are ${known}. Add --format for another file name.`,
      );
    }
    return new WrittenTranscripts(format, layout, () => out, terminal);
  }
  const names = inputs.map((input) => outputName(input, format));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new UsageError(`Two of the files would become ${path.join(out, twice)}; transcribe them apart.`);
  return new WrittenTranscripts(format, layout, (input) => path.join(out, outputName(input, format)), terminal);
}

class WrittenTranscripts implements TranscriptOutput {
  readonly streams = false;

  constructor(
    private readonly format: TranscriptFormat,
    private readonly layout: SubtitleOptions,
    private readonly fileFor: (input: string) => string,
    private readonly terminal: Terminal,
  ) {}

  /** Makes the folder, so that one that cannot be made is found before the work and not after it. */
  async begin(input: string): Promise<void> {
    await mkdir(path.dirname(path.resolve(this.fileFor(input))), { recursive: true });
  }

  async deliver(input: string, transcript: Transcript | undefined, cutShort = false): Promise<void> {
    if (!transcript || (cutShort && transcript.segments.length === 0)) return;
    const wanted = this.fileFor(input);
    const file = cutShort ? await nameForPart(wanted) : wanted;
    await writeWhole(file, formatTranscript(transcript, this.format, this.layout));
    if (file !== wanted) this.terminal.errors.write(`${wanted} is as it was; what came is in ${file}.\n`);
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
