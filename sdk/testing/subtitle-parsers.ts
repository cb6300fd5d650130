/** Strict readers of subtitle files, made from the formats' grammars and not from the writers. They throw at what the grammar forbids. */

/** A cue as it stands in a file; times in milliseconds. */
export interface ParsedCue {
  start: number;
  end: number;
  /** Plain text: markup and escapes undone. */
  lines: string[];
  /** Times inside the cue (WebVTT). */
  times: number[];
  /** Contents of class spans (WebVTT). */
  spans: string[];
}

function milliseconds(clock: string, pattern: RegExp): number {
  const match = pattern.exec(clock);
  if (!match) throw new Error(`no time: ${JSON.stringify(clock)}`);
  const [, hours = "0", minutes, seconds, thousandths] = match;
  if (Number(minutes) > 59 || Number(seconds) > 59) throw new Error(`no time of day: ${clock}`);
  return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000 + Number(thousandths);
}

function assertOrder(cues: readonly ParsedCue[]): void {
  let time = 0;
  for (const { start, end } of cues) {
    if (start < time) throw new Error(`a cue at ${start} begins before ${time}`);
    if (end <= start) throw new Error(`a cue at ${start} is empty`);
    time = end;
  }
}

/** SubRip as players agree on it: number, `HH:MM:SS,mmm --> HH:MM:SS,mmm`, lines, an empty line. */
export function parseSrt(file: string): ParsedCue[] {
  if (file === "") return [];
  if (/[\r\0]/.test(file)) throw new Error("a character that has no place in the file");
  if (!file.endsWith("\n") || file.endsWith("\n\n")) throw new Error("the file must end with one line break");
  const cues = file
    .slice(0, -1)
    .split("\n\n")
    .map((block, index) => {
      const [number, times = "", ...lines] = block.split("\n");
      if (number !== String(index + 1)) throw new Error(`number ${number}, expected ${index + 1}`);
      const parts = times.split(" --> ");
      if (parts.length !== 2) throw new Error(`no line of times: ${times}`);
      const [start, end] = parts.map((part) => milliseconds(part, /^(\d{2,}):(\d\d):(\d\d),(\d{3})$/)) as [
        number,
        number,
      ];
      if (lines.length === 0) throw new Error(`cue ${number} has no text`);
      for (const line of lines) {
        if (line.trim() !== line || line === "" || line.includes("-->"))
          throw new Error(`line ${JSON.stringify(line)}`);
      }
      return { start, end, lines, times: [], spans: [] };
    });
  assertOrder(cues);
  return cues;
}

const VTT_TIME = /^(?:(\d{2,}):)?(\d\d):(\d\d)\.(\d{3})$/;

/** WebVTT: {@link https://www.w3.org/TR/webvtt1/#file-structure}, without the parts that transcripts do not need. */
export function parseVtt(file: string): ParsedCue[] {
  if (/[\r\0]/.test(file)) throw new Error("a character that has no place in the file");
  const header = /^\ufeff?WEBVTT(?:[ \t][^\n]*)?(?:\n\n+|\n$)/.exec(file);
  if (!header) throw new Error("no header");
  const body = file.slice(header[0].length);
  if (body === "") return [];
  if (!body.endsWith("\n")) throw new Error("the last line is not ended");
  const cues = body.slice(0, -1).split(/\n\n+/).map(parseVttBlock);
  assertOrder(cues);
  return cues;
}

function parseVttBlock(block: string): ParsedCue {
  const rows = block.split("\n");
  if (!rows[0]!.includes("-->")) rows.shift();
  const timing = /^(\S+)[ \t]+-->[ \t]+(\S+)$/.exec(rows.shift() ?? "");
  if (!timing) throw new Error(`no line of times in ${JSON.stringify(block)}`);
  const [start, end] = [milliseconds(timing[1]!, VTT_TIME), milliseconds(timing[2]!, VTT_TIME)];
  if (rows.length === 0 || rows.includes("")) throw new Error(`no text in ${JSON.stringify(block)}`);
  if (rows.some((row) => row.includes("-->"))) throw new Error(`an arrow in ${JSON.stringify(block)}`);
  return { start, end, ...parseCueText(rows.join("\n"), start, end) };
}

const ESCAPES: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&nbsp;": "\u00a0" };

function parseCueText(payload: string, start: number, end: number): Pick<ParsedCue, "lines" | "times" | "spans"> {
  let plain = "";
  const times: number[] = [];
  const spans: string[] = [];
  let openSpan: number | undefined;
  // Text, character reference, tag; anything else is no cue text.
  const token = /([^&<]+)|(&[a-z]+;)|<([^<>&\n]*)>/y;
  while (token.lastIndex < payload.length) {
    const at = token.lastIndex;
    const match = token.exec(payload);
    if (!match) throw new Error(`no cue text: ${JSON.stringify(payload.slice(at))}`);
    const [, text, reference, tag] = match;
    if (text !== undefined) plain += text;
    else if (reference !== undefined) {
      const character = ESCAPES[reference];
      if (character === undefined) throw new Error(`no character reference: ${reference}`);
      plain += character;
    } else if (tag === "c") {
      if (openSpan !== undefined) throw new Error("a span in a span");
      openSpan = plain.length;
    } else if (tag === "/c") {
      if (openSpan === undefined) throw new Error("the end of no span");
      spans.push(plain.slice(openSpan));
      openSpan = undefined;
    } else {
      const time = milliseconds(tag!, VTT_TIME);
      if (time <= (times.at(-1) ?? start) || time >= end) throw new Error(`time ${time} is out of order`);
      times.push(time);
    }
  }
  if (openSpan !== undefined) throw new Error("a span without end");
  return { lines: plain.split("\n"), times, spans };
}
