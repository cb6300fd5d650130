import { InvalidArgumentError, Option, type Command } from "commander";
import type { WeightsOption, WhisperLoadOptions, WhisperOptions } from "../index.js";
import { addDeviceFlags, addWeightsFlag, parseNumber, toDeviceOptions, type DeviceFlags } from "./flags.js";

/** What the flags of {@link addWhisperFlags} give. */
export interface WhisperFlags extends DeviceFlags {
  weights?: WeightsOption;
  language?: string;
  task?: "transcribe" | "translate";
  timestamps?: "segment" | "word";
  mode?: "sequential" | "batched";
  batchSize?: number;
  beamSize?: number;
  temperature?: number | number[];
  prompt?: string;
  hotwords?: string;
  range?: [start: number, end?: number];
}

/** Flags about loading a Whisper model, and about how it transcribes. */
export function addWhisperFlags(command: Command): Command {
  return addWeightsFlag(addDeviceFlags(command, "model folder: OpenVINO IR, CTranslate2 or safetensors"))
    .option("-l, --language <language>", "what is spoken: en, de, ...; without it the model finds out")
    .addOption(
      new Option("--task <task>", "write what was said, or its translation into English").choices([
        "transcribe",
        "translate",
      ]),
    )
    .addOption(new Option("--timestamps <kind>", "times of segments, or of words too").choices(["segment", "word"]))
    .addOption(
      new Option("--mode <mode>", "window after window, or several together, which is faster").choices([
        "sequential",
        "batched",
      ]),
    )
    .option("--batch-size <n>", "windows computed together; above 1 it means --mode batched", parseNumber)
    .option("--beam-size <n>", "1 takes the likeliest token at each step", parseNumber)
    .option("-t, --temperature <t>", "one value, or several to try in turn: 0,0.4,0.8", parseNumbers)
    .option("-p, --prompt <text>", "text that seems to have been said before: names, spelling, style")
    .option("--hotwords <text>", "words that are likely to come")
    .option("--range <a-b>", "only this part: 90-120, 1:30-2:00 or 90-", parseRange);
}

/** `0` or `0,0.2,0.4`. */
export function parseNumbers(text: string): number | number[] {
  const values = text.split(",").map(parseNumber);
  return values.length === 1 ? values[0]! : values;
}

/** Seconds, `MM:SS` or `HH:MM:SS`. */
function parseTime(text: string): number | undefined {
  if (!/^(?:(?:\d+:)?\d{1,2}:)?\d+(?:\.\d+)?$/.test(text)) return undefined;
  return text.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
}

/** Reads a part of the audio: its beginning, and its end if there is one. */
export function parseRange(text: string): [start: number, end?: number] {
  const [from = "", to = "", ...rest] = text.split("-").map((part) => part.trim());
  const start = parseTime(from);
  const end = to === "" ? undefined : parseTime(to);
  if (!text.includes("-") || rest.length > 0 || start === undefined || (to !== "" && end === undefined)) {
    throw new InvalidArgumentError("It must be two times, such as 90-120, 1:30-2:00 or 90- (to the end).");
  }
  return end === undefined ? [start] : [start, end];
}

/** The SDK's load options for the flags. */
export function toWhisperLoadOptions(flags: WhisperFlags): WhisperLoadOptions {
  return { ...toDeviceOptions(flags), ...(flags.weights && { weights: flags.weights }) };
}

const OPTION_FLAGS = [
  ...(["language", "task", "timestamps", "mode", "batchSize", "beamSize"] as const),
  ...(["temperature", "prompt", "hotwords", "range"] as const),
];

/** The SDK's options of a transcription for the flags. Flags not given stay absent. */
export function toWhisperOptions(flags: WhisperFlags): WhisperOptions {
  return Object.fromEntries(OPTION_FLAGS.flatMap((name) => (flags[name] === undefined ? [] : [[name, flags[name]]])));
}
