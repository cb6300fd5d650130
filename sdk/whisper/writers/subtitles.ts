import type { Cue, CueLine } from "./cues.js";

/** SubRip: a number, times with a comma, the lines, an empty line. */
export function formatSrt(cues: readonly Cue[]): string {
  return cues
    .map(({ start, end, lines }, index) => {
      // The format has no way to write an arrow as text, and some readers take any for a line of times.
      const text = lines.map((line) => line.text.replaceAll("-->", "->")).join("\n");
      return `${index + 1}\n${clock(start, ",")} --> ${clock(end, ",")}\n${text}\n`;
    })
    .join("\n");
}

/**
 * WebVTT ({@link https://www.w3.org/TR/webvtt1/}).
 *
 * @param highlightWords - mark each word with its time, so that style sheets can show which is said (`::cue(c:past)`)
 */
export function formatVtt(cues: readonly Cue[], highlightWords: boolean): string {
  const blocks = cues.map((cue) => {
    const lines = highlightWords ? withWordTimes(cue) : cue.lines.map(({ text }) => escapeVtt(text));
    return `${vttClock(cue.start)} --> ${vttClock(cue.end)}\n${lines.join("\n")}\n`;
  });
  return ["WEBVTT\n", ...blocks].join("\n");
}

/** Words as `<00:01.500><c>word</c>`. Times inside a cue must grow and lie between its own; the others are left out. */
function withWordTimes({ start, end, lines }: Cue): string[] {
  let time = start;
  const mark = (line: CueLine): string => {
    let marked = "";
    let at = 0;
    for (const word of line.words) {
      marked += escapeVtt(line.text.slice(at, word.from));
      if (word.start > time && word.start < end) {
        time = word.start;
        marked += `<${vttClock(time)}>`;
      }
      marked += `<c>${escapeVtt(line.text.slice(word.from, word.to))}</c>`;
      at = word.to;
    }
    return marked + escapeVtt(line.text.slice(at));
  };
  return lines.map(mark);
}

/** Escaping `>` also keeps `-->` out of the text, which must not hold it. */
function escapeVtt(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Hours are written where there are any. */
function vttClock(milliseconds: number): string {
  const text = clock(milliseconds, ".");
  return text.startsWith("00:") ? text.slice(3) : text;
}

/** `HH:MM:SS.mmm`; more than two digits of hours where needed. */
function clock(milliseconds: number, separator: "." | ","): string {
  const pad = (value: number, digits: number): string => String(Math.floor(value)).padStart(digits, "0");
  const [hours, minutes, seconds] = [
    milliseconds / 3_600_000,
    (milliseconds / 60_000) % 60,
    (milliseconds / 1000) % 60,
  ];
  return `${pad(hours, 2)}:${pad(minutes, 2)}:${pad(seconds, 2)}${separator}${pad(milliseconds % 1000, 3)}`;
}
