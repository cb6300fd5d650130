import type { SpeechActivity } from "./activity.js";
import { GATE_STEP } from "./voice-gate.js";

/** A part of the audio, in steps of the voice gate (20 ms), end not included. */
interface Stretch {
  start: number;
  end: number;
}

/** A part of the audio that is decoded as one window, in seconds. */
export interface SpeechWindow {
  start: number;
  end: number;
}

const steps = (seconds: number): number => Math.round(seconds / GATE_STEP);

/** Shorter pauses are no place to cut. */
const SHORTEST_PAUSE = steps(0.2);
/** Shorter sounds, alone between pauses, are clicks. */
const SHORTEST_SPEECH = steps(0.06);
/** Kept before and after speech, where the pause has as much. */
const MARGIN = steps(0.3);
const LONGEST = steps(30);
/** Speech without a pause is cut at its weakest place, this long after its beginning at the earliest and the latest. */
const FORCED_CUT = [steps(16), steps(29)] as const;
/** A further window has to be worth more than the better cuts it allows. */
const WINDOW_COST = 10;

/**
 * Cuts a recording into windows of at most 30 s for decoding side by side: as few as possible, cut in the middle of the longest
 * pauses that allow that, and without the pauses between them. Only speech that lasts longer than a window is cut inside, where it
 * is weakest.
 */
export function planWindows(activity: SpeechActivity): SpeechWindow[] {
  const stretches = splitLong(speechStretches(activity), activity);
  if (stretches.length === 0) return wholeAudio(activity);
  const padded = stretches.map((stretch, index) => pad(stretch, stretches[index - 1], stretches[index + 1], activity));
  return pack(stretches, padded).map(({ start, end }) => ({ start: start * GATE_STEP, end: end * GATE_STEP }));
}

/** Speech, pauses too short to cut in included. */
function speechStretches(activity: SpeechActivity): Stretch[] {
  const found: Stretch[] = [];
  for (let step = 0; step < activity.length; step++) {
    if (!activity.isSpeech(step)) continue;
    const last = found.at(-1);
    if (last && step - last.end < SHORTEST_PAUSE) last.end = step + 1;
    else found.push({ start: step, end: step + 1 });
  }
  return found.filter(({ start, end }) => end - start >= SHORTEST_SPEECH);
}

function splitLong(stretches: readonly Stretch[], activity: SpeechActivity): Stretch[] {
  return stretches.flatMap(({ start, end }) => {
    const parts: Stretch[] = [];
    let from = start;
    while (end - from > FORCED_CUT[1]) {
      const cut = activity.weakestStep(from + FORCED_CUT[0], from + FORCED_CUT[1]);
      parts.push({ start: from, end: cut });
      from = cut;
    }
    parts.push({ start: from, end });
    return parts;
  });
}

/** A steady sound is no speech to the gate, but it may hide some: the model decides. */
function wholeAudio(activity: SpeechActivity): SpeechWindow[] {
  if (activity.isInaudible(0, activity.length * GATE_STEP)) return [];
  const windows: SpeechWindow[] = [];
  for (let start = 0; start < activity.length; start += LONGEST) {
    windows.push({ start: start * GATE_STEP, end: Math.min(activity.length, start + LONGEST) * GATE_STEP });
  }
  return windows;
}

function pad(
  { start, end }: Stretch,
  before: Stretch | undefined,
  after: Stretch | undefined,
  { length }: SpeechActivity,
): Stretch {
  const room = {
    before: before ? (start - before.end) / 2 : start,
    after: after ? (after.start - end) / 2 : length - end,
  };
  return {
    start: start - Math.floor(Math.min(MARGIN, room.before)),
    end: end + Math.floor(Math.min(MARGIN, room.after)),
  };
}

/** Puts neighbouring stretches into windows: the cheapest way, found from the front. */
function pack(stretches: readonly Stretch[], padded: readonly Stretch[]): Stretch[] {
  const cost: number[] = [0];
  const firstOf: number[] = [];
  for (let last = 0; last < stretches.length; last++) {
    let [best, from] = [Infinity, last];
    for (let first = last; first >= 0 && padded[last]!.end - padded[first]!.start <= LONGEST; first--) {
      const total = cost[first]! + WINDOW_COST - worthOfCut(stretches[first - 1], stretches[first]!);
      if (total < best) [best, from] = [total, first];
    }
    cost.push(best);
    firstOf.push(from);
  }
  const windows: Stretch[] = [];
  for (let last = stretches.length - 1; last >= 0; last = firstOf[last]! - 1) {
    windows.push({ start: padded[firstOf[last]!]!.start, end: padded[last]!.end });
  }
  return windows.reverse();
}

/** Longer pauses are better places to cut, and better not inside a window, but a little less so the longer they are. */
function worthOfCut(before: Stretch | undefined, after: Stretch): number {
  return before ? Math.log2(1 + (after.start - before.end) * GATE_STEP) : 0;
}
