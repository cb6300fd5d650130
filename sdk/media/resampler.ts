import { createKernel, type ResampleKernel } from "./resample-kernel.js";

/** Rate that speech models take, in samples a second. */
export const TARGET_RATE = 16_000;

/** The pass band ends at this part of the lower Nyquist frequency: 7.04 kHz for rates from 16 kHz up. */
const PASS_BAND = 0.88;
/** Damping of the stop band, which begins at the lower Nyquist frequency, in decibels. */
const ATTENUATION = 90;
/** Output samples computed at once. */
const OUTPUT_BLOCK = 2048;
/** Input samples taken at once. */
const INPUT_BLOCK = 8192;

/**
 * Changes the sampling rate to 16 kHz, piece by piece.
 *
 * A polyphase filter with a Kaiser window (J. F. Kaiser, "Nonrecursive digital filter design using the I0-sinh window
 * function", 1974): linear phase, its delay taken off. Flat up to 7 kHz, at least 80 dB down from 8 kHz on. The output
 * has round(input × 16000 / rate) samples.
 *
 * libsamplerate as WebAssembly (npm's best known resampler) takes 44 to 170 s for an hour at 44.1 kHz where this takes 2,
 * and has no way to end the input: the last samples stay inside.
 */
export class Resampler {
  /** Output samples for each `step` input samples. */
  readonly #phases: number;
  readonly #step: number;
  /** Taps of one row of the table. */
  readonly #taps: number;
  readonly #passThrough: boolean;
  readonly #design: FilterDesign | undefined;
  readonly #kernel: ResampleKernel | undefined;
  readonly #table!: Float32Array;
  readonly #input!: Float32Array;
  readonly #output!: Float32Array;
  readonly #ready!: Uint8Array;
  /** Samples in `#input`; the first is input number `#first`, counted with the zeros before the beginning. */
  #held = 0;
  #first = 0;
  #received = 0;
  #produced = 0;

  /** @param rate - samples a second of the input, an integer */
  constructor(rate: number) {
    const divisor = greatestCommonDivisor(rate, TARGET_RATE);
    this.#phases = TARGET_RATE / divisor;
    this.#step = rate / divisor;
    this.#passThrough = rate === TARGET_RATE;
    this.#taps = 0;
    if (this.#passThrough) return;
    const design = designFilter(rate);
    this.#design = design;
    this.#taps = design.taps;
    const tableLength = this.#phases * this.#taps;
    const inputLength = INPUT_BLOCK + 2 * this.#taps;
    this.#kernel = createKernel(4 * (tableLength + inputLength + OUTPUT_BLOCK));
    const { buffer } = this.#kernel.memory;
    // Rows begin at multiples of 64 bytes.
    this.#table = new Float32Array(buffer, 0, tableLength);
    this.#input = new Float32Array(buffer, 4 * tableLength, inputLength);
    this.#output = new Float32Array(buffer, 4 * (tableLength + inputLength), OUTPUT_BLOCK);
    this.#ready = new Uint8Array(this.#phases);
    // Before the first sample there was silence.
    this.#held = this.#taps / 2 - 1;
  }

  /** Input samples that influence an output sample lie at most this far from it. */
  get reach(): number {
    return this.#taps / 2;
  }

  /** Input samples between two outputs that fall on an input sample. */
  get period(): number {
    return this.#step;
  }

  /** Takes the next samples. @returns what can be computed so far; valid until the next call if the rate is 16 kHz */
  push(samples: Float32Array): Float32Array {
    this.#received += samples.length;
    return this.#passThrough ? samples : this.#filter(samples, Infinity);
  }

  /** Ends the input. @returns the rest */
  flush(): Float32Array {
    if (this.#passThrough) return new Float32Array(0);
    const total = Math.floor((2 * this.#received * this.#phases + this.#step) / (2 * this.#step));
    // Enough silence for the last output, which may lie up to one output's distance behind the last input.
    const silence = new Float32Array(this.#taps + Math.ceil(this.#step / this.#phases));
    return this.#filter(silence, total);
  }

  #filter(samples: Float32Array, total: number): Float32Array {
    const parts: Float32Array[] = [];
    for (let at = 0; at < samples.length && this.#produced < total; at += INPUT_BLOCK) {
      const block = samples.subarray(at, at + INPUT_BLOCK);
      this.#input.set(block, this.#held);
      this.#held += block.length;
      this.#compute(parts, total);
    }
    const [first] = parts;
    if (parts.length <= 1) return first ?? new Float32Array(0);
    const joined = new Float32Array(parts.reduce((length, part) => length + part.length, 0));
    let at = 0;
    for (const part of parts) {
      joined.set(part, at);
      at += part.length;
    }
    return joined;
  }

  /** Computes all outputs whose inputs are there, and drops inputs that no further output needs. */
  #compute(parts: Float32Array[], total: number): void {
    const [step, phases, taps] = [this.#step, this.#phases, this.#taps];
    for (;;) {
      const start = Math.floor((this.#produced * step) / phases) - this.#first;
      const phase = (this.#produced * step) % phases;
      // The last output's row must end within the input.
      const reachable = Math.floor(((this.#held - taps - start + 1) * phases - phase - 1) / step) + 1;
      const count = Math.min(OUTPUT_BLOCK, reachable, total - this.#produced);
      if (count <= 0) {
        const dropped = Math.min(Math.max(start, 0), this.#held);
        this.#input.copyWithin(0, dropped, this.#held);
        this.#held -= dropped;
        this.#first += dropped;
        return;
      }
      this.#prepare(phase, count);
      const inputStart = this.#input.byteOffset + 4 * start;
      this.#kernel!.run(inputStart, 0, 4 * taps, phase, step, phases, this.#output.byteOffset, count);
      parts.push(this.#output.slice(0, count));
      this.#produced += count;
    }
  }

  /** Computes rows of the table when they are first needed: unusual rates have thousands. */
  #prepare(phase: number, count: number): void {
    let current = phase;
    for (let index = 0; index < Math.min(count, this.#phases); index++) {
      if (this.#ready[current] === 0) {
        fillRow(
          this.#table.subarray(current * this.#taps, (current + 1) * this.#taps),
          current / this.#phases,
          this.#design!,
        );
        this.#ready[current] = 1;
      }
      current = (current + this.#step) % this.#phases;
    }
  }
}

interface FilterDesign {
  /** A multiple of 16, as the kernel wants. */
  taps: number;
  /** Cut-off as a part of the input's rate. */
  cutOff: number;
  beta: number;
}

function designFilter(rate: number): FilterDesign {
  const nyquist = Math.min(rate, TARGET_RATE) / 2;
  const transition = (nyquist * (1 - PASS_BAND)) / rate;
  // Kaiser's formula for the length.
  const needed = (ATTENUATION - 7.95) / (2.285 * 2 * Math.PI * transition) + 1;
  return {
    taps: Math.ceil(needed / 16) * 16,
    cutOff: (nyquist * (1 + PASS_BAND)) / 2 / rate,
    beta: 0.1102 * (ATTENUATION - 8.7),
  };
}

/** The taps for outputs that lie `offset` of an input sample behind one. */
function fillRow(row: Float32Array, offset: number, { taps, cutOff, beta }: FilterDesign): void {
  const half = taps / 2;
  const values = new Float64Array(taps);
  let sum = 0;
  for (let tap = 0; tap < taps; tap++) {
    const distance = tap - (half - 1) - offset;
    const position = distance / half;
    const window = Math.abs(position) >= 1 ? 0 : bessel(beta * Math.sqrt(1 - position * position));
    const angle = 2 * Math.PI * cutOff * distance;
    const value = window * (angle === 0 ? 1 : Math.sin(angle) / angle);
    values[tap] = value;
    sum += value;
  }
  // Each row passes a constant signal unchanged.
  for (let tap = 0; tap < taps; tap++) row[tap] = values[tap]! / sum;
}

/** Modified Bessel function of the first kind, order 0. */
function bessel(x: number): number {
  const quarter = (x * x) / 4;
  let term = 1;
  let sum = 1;
  for (let k = 1; term > sum * 1e-12; k++) {
    term *= quarter / (k * k);
    sum += term;
  }
  return sum;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
