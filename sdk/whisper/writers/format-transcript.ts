import { z } from "zod";
import { OptionError } from "../../core/errors.js";
import { flag, numberIn, wholeNumber } from "../../core/option-schemas.js";
import { parseOptions } from "../../core/validate.js";
import { makeCues } from "./cues.js";
import { formatSrt, formatVtt } from "./subtitles.js";
import { oneLine, type TimedSegment } from "./timed-text.js";

/** `txt`: a line a segment. `srt`, `vtt`: subtitles. `json`: the transcript object as it is. */
export type TranscriptFormat = "txt" | "srt" | "vtt" | "json";

/** How subtitles are laid out; `txt` and `json` take none of these. */
export interface SubtitleOptions {
  /** Columns of a line, 10 to 200; wide characters (Chinese, Japanese, Korean, emoji) take two. Defaults to 42. */
  maxLineLength?: number | undefined;
  /** Lines of a subtitle, 1 to 10. Defaults to 2. */
  maxLines?: number | undefined;
  /** Reading speed, 1 to 100: a subtitle stays until it can be read, where the next one leaves time. Defaults to 17. */
  maxCharactersPerSecond?: number | undefined;
  /** `vtt` only, needs words: each word carries its time, for players that show which is said. Defaults to `false`. */
  highlightWords?: boolean | undefined;
}

/** A transcript, or what is left of one after editing: only segments are needed. */
export interface WritableTranscript {
  segments: readonly TimedSegment[];
  /** Seconds; no subtitle is lengthened beyond it. Defaults to the last segment's end. */
  duration?: number | undefined;
}

const FORMATS = ["txt", "srt", "vtt", "json"] as const satisfies TranscriptFormat[];

const seconds = z.number().min(0).describe("a number of seconds, not negative");
const timed = { start: seconds, end: seconds };

const transcriptSchema = z.looseObject({
  segments: z.array(
    z.looseObject({
      ...timed,
      text: z.string(),
      words: z.array(z.looseObject({ ...timed, word: z.string() })).optional(),
    }),
  ),
  duration: seconds.optional(),
});

const optionsSchema = z.strictObject({
  maxLineLength: wholeNumber(10, 200).optional(),
  maxLines: wholeNumber(1, 10).optional(),
  maxCharactersPerSecond: numberIn(1, 100).optional(),
  highlightWords: flag.optional(),
});

/**
 * Writes a transcript as text.
 *
 * Subtitles end where sentences, clauses or pauses do, at the times of words where the transcript has them
 * (`timestamps: "word"`), else at times in proportion to the text. They never overlap, are never empty, and no character of any
 * script is cut.
 *
 * @throws OptionError for a value that is no transcript, an unknown format, or options that do not belong to the format
 */
export function formatTranscript(
  transcript: WritableTranscript,
  format: TranscriptFormat,
  options: SubtitleOptions = {},
): string {
  parseOptions(z.enum(FORMATS).describe(`one of ${FORMATS.join(", ")}`), format, "format");
  const { segments, duration } = parseOptions(transcriptSchema, transcript, "transcript");
  const given = parseOptions(optionsSchema, options);
  assertOptionsFit(segments, format, given);
  if (format === "json") return `${JSON.stringify(transcript, null, 2)}\n`;
  if (format === "txt") {
    return segments
      .map(({ text }) => oneLine(text))
      .filter((line) => line !== "")
      .map((line) => `${line}\n`)
      .join("");
  }
  const cues = makeCues(segments, duration ?? segments.at(-1)?.end ?? 0, {
    maxLineLength: given.maxLineLength ?? 42,
    maxLines: given.maxLines ?? 2,
    maxCharactersPerSecond: given.maxCharactersPerSecond ?? 17,
  });
  return format === "srt" ? formatSrt(cues) : formatVtt(cues, given.highlightWords ?? false);
}

function assertOptionsFit(segments: readonly TimedSegment[], format: TranscriptFormat, options: SubtitleOptions): void {
  const name = Object.entries(options).find(([, value]) => value !== undefined && value !== false)?.[0];
  const isSubtitle = format === "srt" || format === "vtt";
  if (name !== undefined && !isSubtitle) {
    throw unfit(name, options, `lays out subtitles; the format ${format} does not take it`, "no subtitle options");
  }
  if (options.highlightWords !== true) return;
  if (format !== "vtt") throw unfit("highlightWords", options, "is for the format vtt", 'false, or the format "vtt"');
  const isWithoutWords = segments.some(({ text, words }) => words === undefined && oneLine(text) !== "");
  if (isWithoutWords) {
    throw unfit(
      "highlightWords",
      options,
      'needs a transcript with words: transcribe with timestamps: "word"',
      "false, or a transcript with words",
    );
  }
}

function unfit(path: string, options: SubtitleOptions, reason: string, expected: string): OptionError {
  const received = options[path as keyof SubtitleOptions];
  return new OptionError(`${path} ${reason}.`, { path, expected, received });
}
