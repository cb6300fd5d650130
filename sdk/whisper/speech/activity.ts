import { GATE_STEP, type GateStep } from "./voice-gate.js";

/** Nineteen of twenty steps of a steady sound lie within this range, in dB. */
const STEADY_RANGE = 6;
/** Below this, differences are those of rounding; in dB. */
const QUIETEST = -90;

/** Less speech in a part, in seconds, is a noise. */
const LEAST_SPEECH = 0.1;

/** What a step is. */
const [PAUSE, SPEECH, SILENT] = [0, 1, 2];

/** Levels and judgements of a whole recording, in steps of 20 ms: 0.9 MB an hour in place of its samples. */
export class SpeechActivity {
  #levels = new Float32Array(1024);
  #speech = new Uint8Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(steps: readonly GateStep[]): void {
    if (this.#length + steps.length > this.#levels.length) this.#grow(this.#length + steps.length);
    for (const { level, speech, silent } of steps) {
      this.#levels[this.#length] = level;
      this.#speech[this.#length] = silent ? SILENT : speech ? SPEECH : PAUSE;
      this.#length++;
    }
  }

  isSpeech(step: number): boolean {
    return this.#speech[step] === SPEECH;
  }

  /** Whether there is no sound at all between two times, as in padding or behind a switched off microphone. */
  isInaudible(start: number, end: number): boolean {
    const to = Math.min(this.#length, Math.ceil(end / GATE_STEP));
    for (let step = Math.max(0, Math.floor(start / GATE_STEP)); step < to; step++) {
      if (this.#speech[step] !== SILENT) return false;
    }
    return true;
  }

  /** Seconds of speech between two times. */
  speechBetween(start: number, end: number): number {
    const to = Math.min(this.#length, Math.ceil(end / GATE_STEP));
    let steps = 0;
    for (let step = Math.max(0, Math.floor(start / GATE_STEP)); step < to; step++)
      if (this.#speech[step] === SPEECH) steps++;
    return steps * GATE_STEP;
  }

  /** The middle of the pause that a time lies in or comes at most `within` seconds after; the time itself if there is none. */
  pauseBefore(time: number, within: number): number {
    const from = Math.min(this.#length - 1, Math.round(time / GATE_STEP));
    const least = Math.max(0, from - Math.round(within / GATE_STEP));
    let last = from;
    while (last >= least && this.#speech[last] === SPEECH) last--;
    if (last < least) return time;
    let first = last;
    while (first > 0 && this.#speech[first - 1] !== SPEECH) first--;
    return Math.min(time, ((first + last + 1) / 2) * GATE_STEP);
  }

  /** The step around which it is quietest, among `from` to `to`. */
  weakestStep(from: number, to: number): number {
    return weakestStep(this.#levels, from, Math.min(to, this.#length));
  }

  /**
   * Whether there can be no speech between two times: loudness hardly changes (silence, a tone, a noise; speech rises and falls by
   * far more, also where no pause is in it), or the gate found none.
   */
  isSteady(start: number, end: number): boolean {
    const from = Math.max(0, Math.floor(start / GATE_STEP));
    const levels = this.#levels.slice(from, Math.min(this.#length, Math.ceil(end / GATE_STEP))).sort();
    if (levels.length === 0) return true;
    const at = (share: number): number => Math.max(QUIETEST, levels[Math.floor(share * (levels.length - 1))]!);
    return at(0.95) - at(0.05) < STEADY_RANGE || this.speechBetween(start, end) < LEAST_SPEECH;
  }

  #grow(least: number): void {
    const size = Math.max(least, this.#levels.length * 2);
    const levels = new Float32Array(size);
    const speech = new Uint8Array(size);
    levels.set(this.#levels);
    speech.set(this.#speech);
    [this.#levels, this.#speech] = [levels, speech];
  }
}

/** Steps on either side that count when the weakest place is looked for. */
const NEIGHBOURS = 2;

/** The step around which levels are lowest, from `from` to before `to`; of equal ones the last. */
export function weakestStep(levels: ArrayLike<number>, from: number, to: number): number {
  let [weakest, lowest] = [from, Infinity];
  for (let step = from; step < to; step++) {
    let sum = 0;
    let count = 0;
    for (let near = Math.max(0, step - NEIGHBOURS); near <= Math.min(levels.length - 1, step + NEIGHBOURS); near++) {
      sum += levels[near]!;
      count++;
    }
    if (sum / count <= lowest) [weakest, lowest] = [step, sum / count];
  }
  return weakest;
}
