import { SAMPLE_RATE } from "../whisper-facts.js";
import { weakestStep } from "../speech/activity.js";
import { GATE_STEP, VoiceGate, type GateStep } from "../speech/voice-gate.js";

const STEP = Math.round(GATE_STEP * SAMPLE_RATE);
const steps = (seconds: number): number => Math.round(seconds / GATE_STEP);

/** So many steps of speech in a row begin an utterance. */
const ONSET_STEPS = 3;
/** Audio kept in front of the first step of speech, and behind the last. */
const LEAD = steps(0.4);
const TRAIL = steps(0.2);
/** An utterance with less speech is a noise. */
const LEAST_SPEECH = steps(0.16);
/** A window of the encoder: an utterance is cut before it grows longer, where it is weakest. */
const LONGEST = steps(30);
const FORCED_CUT = [steps(16), steps(29)] as const;

/** Something that is being said: audio that grows until a pause. Never longer than 30 s. */
export class Utterance {
  /** Step of the stream that it begins with. */
  readonly firstStep: number;
  #samples = new Float32Array(steps(2) * STEP);
  readonly levels: number[] = [];
  /** Samples behind the last whole step, at the end of the audio. */
  #rest = 0;
  /** Steps of speech in it. */
  speechSteps = 0;
  ended = false;

  constructor(firstStep: number) {
    this.firstStep = firstStep;
  }

  get start(): number {
    return this.firstStep * GATE_STEP;
  }

  get seconds(): number {
    return this.levels.length * GATE_STEP + this.#rest / SAMPLE_RATE;
  }

  /** A copy of the audio so far. */
  samples(): Float32Array {
    return this.#samples.slice(0, this.levels.length * STEP + this.#rest);
  }

  add(step: Float32Array, { level, speech }: GateStep): void {
    this.#store(step);
    this.levels.push(level);
    if (speech) this.speechSteps++;
  }

  /** Adds what does not fill a step, at the end of the audio. */
  addRest(samples: Float32Array): void {
    this.#store(samples);
    this.#rest = samples.length;
  }

  #store(samples: Float32Array): void {
    const at = this.levels.length * STEP;
    if (at + STEP > this.#samples.length) {
      const larger = new Float32Array(Math.min(LONGEST * STEP, this.#samples.length * 2));
      larger.set(this.#samples);
      this.#samples = larger;
    }
    this.#samples.set(samples, at);
  }

  /** Ends it after this many steps; what lies behind them is forgotten. */
  end(length: number): void {
    this.levels.length = Math.min(this.levels.length, length);
    this.ended = true;
  }

  /** Audio of one step. */
  stepAt(index: number): Float32Array {
    return this.#samples.subarray(index * STEP, (index + 1) * STEP);
  }
}

/** Cuts audio that comes piece by piece into utterances. Keeps 30 s at most. */
export class UtteranceCutter {
  readonly #gate = new VoiceGate();
  readonly #pauseSteps: number;
  readonly #lead: { samples: Float32Array; step: GateStep }[] = [];
  readonly #pending = new Float32Array(STEP);
  #pendingLength = 0;
  #step = 0;
  #speechRun = 0;
  #silenceRun = 0;
  #current: Utterance | undefined;

  /** @param pause - seconds of silence that end an utterance */
  constructor(pause: number) {
    this.#pauseSteps = Math.max(1, steps(pause));
  }

  /** What is being said at the moment. */
  get current(): Utterance | undefined {
    return this.#current;
  }

  /** Seconds of audio so far. */
  get seconds(): number {
    return this.#step * GATE_STEP + this.#pendingLength / SAMPLE_RATE;
  }

  /** Takes audio and gives the utterances that end in it. */
  push(samples: Float32Array): Utterance[] {
    const ended: Utterance[] = [];
    for (let at = 0; at < samples.length;) {
      const part = samples.subarray(at, at + STEP - this.#pendingLength);
      this.#pending.set(part, this.#pendingLength);
      this.#pendingLength += part.length;
      at += part.length;
      if (this.#pendingLength < STEP) break;
      this.#pendingLength = 0;
      const utterance = this.#take(this.#pending);
      if (utterance && utterance.speechSteps >= LEAST_SPEECH) ended.push(utterance);
    }
    return ended;
  }

  /** The end of the audio ends what is being said. */
  finish(): Utterance | undefined {
    const utterance = this.#current;
    this.#current = undefined;
    if (!utterance || utterance.speechSteps < LEAST_SPEECH) return undefined;
    utterance.end(utterance.levels.length);
    utterance.addRest(this.#pending.subarray(0, this.#pendingLength));
    return utterance;
  }

  #take(samples: Float32Array): Utterance | undefined {
    const [step] = this.#gate.push(samples);
    const here = this.#step++;
    this.#speechRun = step!.speech ? this.#speechRun + 1 : 0;
    this.#silenceRun = step!.speech ? 0 : this.#silenceRun + 1;
    if (!this.#current) {
      this.#lead.push({ samples: samples.slice(), step: step! });
      if (this.#lead.length > LEAD + ONSET_STEPS) this.#lead.shift();
      if (this.#speechRun < ONSET_STEPS) return undefined;
      this.#current = new Utterance(here - this.#lead.length + 1);
      for (const before of this.#lead.splice(0)) this.#current.add(before.samples, before.step);
      return undefined;
    }
    this.#current.add(samples, step!);
    if (this.#silenceRun >= this.#pauseSteps) return this.#endAtPause(this.#current);
    return this.#current.levels.length >= LONGEST ? this.#endInSpeech(this.#current) : undefined;
  }

  #endAtPause(utterance: Utterance): Utterance {
    this.#current = undefined;
    // The pause is the next utterance's lead.
    const length = utterance.levels.length - Math.max(0, this.#silenceRun - TRAIL);
    for (let index = Math.max(length, utterance.levels.length - LEAD); index < utterance.levels.length; index++) {
      this.#lead.push({
        samples: utterance.stepAt(index).slice(),
        step: { level: utterance.levels[index]!, speech: false },
      });
    }
    utterance.end(length);
    return utterance;
  }

  #endInSpeech(utterance: Utterance): Utterance {
    const cut = weakestStep(utterance.levels, FORCED_CUT[0], FORCED_CUT[1]);
    const rest = new Utterance(utterance.firstStep + cut);
    for (let index = cut; index < utterance.levels.length; index++) {
      // Speech goes on: which of these steps were speech does not matter any more.
      rest.add(utterance.stepAt(index), { level: utterance.levels[index]!, speech: true });
    }
    this.#current = rest;
    utterance.end(cut);
    return utterance;
  }
}
