/** Times of a cue in milliseconds, and the columns of its text. */
export interface CueTimes {
  start: number;
  end: number;
  width: number;
}

/** Nobody reads what is shown for less. */
const SHORTEST_MS = 300;
/** A cue of one word stays at least this long if nothing follows at once. */
const COMFORTABLE_MS = 1000;

/**
 * Makes times that players accept and people can read, in place: in order, not overlapping, none empty.
 *
 * A cue that is too short for its text stays until it can be read or the next one begins. Cues that are hardly visible share the
 * time of their neighbours by the lengths of their texts.
 *
 * @param cues - with the times of the speech, by start
 * @param maxColumnsPerSecond - reading speed
 * @param duration - of the audio in ms; no cue is lengthened beyond it
 */
export function settleTimes(cues: CueTimes[], maxColumnsPerSecond: number, duration: number): void {
  lengthen(cues, maxColumnsPerSecond, duration);
  for (let index = 0; index < cues.length; index++) {
    if (cues[index]!.end - cues[index]!.start < SHORTEST_MS) shareTime(cues, index);
  }
  // Who gave time away may take some of the pause that follows.
  lengthen(cues, maxColumnsPerSecond, duration);
  // What is left without any time (many cues at one moment) gets a millisecond each.
  let time = 0;
  for (const cue of cues) {
    cue.start = Math.max(cue.start, time);
    cue.end = Math.max(cue.end, cue.start + 1);
    time = cue.end;
  }
}

function lengthen(cues: CueTimes[], maxColumnsPerSecond: number, duration: number): void {
  for (const [index, cue] of cues.entries()) {
    cue.end = Math.max(cue.start, cue.end);
    const limit = cues[index + 1]?.start ?? Math.max(duration, cue.end);
    const wanted = Math.max(COMFORTABLE_MS, Math.ceil((cue.width / maxColumnsPerSecond) * 1000));
    cue.end = Math.min(Math.max(cue.end, cue.start + wanted), limit);
  }
}

/** Gives a cue and as many neighbours without a pause between them as are needed parts of their common time. */
function shareTime(cues: CueTimes[], index: number): void {
  let [first, last] = [index, index];
  const isEnough = (): boolean => cues[last]!.end - cues[first]!.start >= SHORTEST_MS * (last - first + 1);
  while (!isEnough() && last + 1 < cues.length && cues[last + 1]!.start <= cues[last]!.end) last++;
  while (!isEnough() && first > 0 && cues[first - 1]!.end >= cues[first]!.start) first--;
  const { start } = cues[first]!;
  const { end } = cues[last]!;
  const run = cues.slice(first, last + 1);
  const total = run.reduce((sum, { width }) => sum + Math.max(1, width), 0);
  let before = 0;
  for (const cue of run) {
    cue.start = start + Math.round(((end - start) * before) / total);
    before += Math.max(1, cue.width);
    cue.end = start + Math.round(((end - start) * before) / total);
  }
}
