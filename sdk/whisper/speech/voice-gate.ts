/** Seconds of audio that one judgement covers. */
export const GATE_STEP = 0.02;
const STEP_SAMPLES = 320;

/** Levels are in dB of full scale, of the first difference of the signal: hum and rumble count little. */
const SILENCE = -90;
/** Below it there is no sound at all (padding, muted microphone), which says nothing about the noise. */
const DIGITAL_SILENCE = -85;
const LOWEST_FLOOR = -78;
/** The floor is not believed to be higher: at first, as somebody may speak from the first moment on, and after 3 s. */
const HIGHEST_FLOOR = { atFirst: -56, later: -26 };
const FIRST_STEPS = 150;
/** Above the floor by this much, speech begins; it lasts until the level falls below the second. */
const ONSET = 8;
const OFFSET = 5;
/** The floor is the level that this share of the last steps (12 s) does not reach. */
const FLOOR_SHARE = 0.1;
const FLOOR_STEPS = 600;
/** Share of a new level in the smoothed one. */
const SMOOTHING = 0.4;

/** What the gate finds about a step of 20 ms. */
export interface GateStep {
  /** Smoothed level in dB. */
  level: number;
  speech: boolean;
  /** There is no sound at all: all samples are equal. */
  silent?: true;
}

/**
 * Tells speech from pauses by its loudness alone: a step counts as speech while it is clearly louder than the noise floor, a low
 * percentile of the last 12 s. It works on audio as it comes and looks at nothing later, so files and live audio are judged
 * alike. A steady noise or tone becomes the floor and is no speech; music is.
 */
export class VoiceGate {
  readonly #pending = new Float32Array(STEP_SAMPLES);
  #pendingLength = 0;
  #previous = 0;
  #level: number | undefined;
  readonly #recent = new LevelHistogram();
  #speech = false;

  /** Takes samples (16 kHz mono) of any number and gives the steps they complete. */
  push(samples: Float32Array): GateStep[] {
    const steps: GateStep[] = [];
    for (let at = 0; at < samples.length;) {
      const part = samples.subarray(at, at + STEP_SAMPLES - this.#pendingLength);
      this.#pending.set(part, this.#pendingLength);
      this.#pendingLength += part.length;
      at += part.length;
      if (this.#pendingLength < STEP_SAMPLES) break;
      this.#pendingLength = 0;
      steps.push(this.#step());
    }
    return steps;
  }

  #step(): GateStep {
    let energy = 0;
    let previous = this.#previous;
    for (const sample of this.#pending) {
      const difference = sample - previous;
      energy += difference * difference;
      previous = sample;
    }
    this.#previous = previous;
    const now = energy > 0 ? Math.max(SILENCE, 10 * Math.log10(energy / STEP_SAMPLES)) : SILENCE;
    const level = this.#level === undefined ? now : this.#level + (now - this.#level) * SMOOTHING;
    this.#level = level;
    this.#speech = level > this.#floor(level) + (this.#speech ? OFFSET : ONSET);
    return { level, speech: this.#speech, ...(energy === 0 && { silent: true }) };
  }

  #floor(level: number): number {
    if (level > DIGITAL_SILENCE) this.#recent.add(level);
    const highest = this.#recent.total < FIRST_STEPS ? HIGHEST_FLOOR.atFirst : HIGHEST_FLOOR.later;
    return Math.min(highest, Math.max(LOWEST_FLOOR, this.#recent.percentile(FLOOR_SHARE)));
  }
}

/** Levels of the last steps, counted in classes of half a dB. */
class LevelHistogram {
  readonly #counts = new Uint16Array(1 - SILENCE * 2);
  readonly #ring = new Uint8Array(FLOOR_STEPS);
  /** Levels that were added. */
  total = 0;

  add(level: number): void {
    const at = this.total % FLOOR_STEPS;
    if (this.total >= FLOOR_STEPS) this.#counts[this.#ring[at]!]!--;
    const step = Math.min(this.#counts.length - 1, Math.max(0, Math.round((level - SILENCE) * 2)));
    this.#ring[at] = step;
    this.#counts[step]!++;
    this.total++;
  }

  percentile(share: number): number {
    let left = share * Math.min(this.total, FLOOR_STEPS);
    for (const [step, count] of this.#counts.entries()) {
      left -= count;
      if (count > 0 && left <= 0) return step / 2 + SILENCE;
    }
    return SILENCE;
  }
}
