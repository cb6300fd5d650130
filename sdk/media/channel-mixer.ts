/** Samples of one channel. */
export type ChannelSamples = Float32Array | Float64Array;

/** Channels are judged in steps of so many seconds, by this step and a little of what came before it. */
const STEP_SECONDS = 0.05;
const MEMORY_SECONDS = 0.25;
/** Less says nothing yet, in seconds. */
const LEAST_SECONDS = 0.02;
/** A change of sign takes so many seconds, so that it makes no click. */
const RAMP_SECONDS = 0.005;
/**
 * How alike two channels are, from -1 (each the other's inverse) to 1 (equal): twice their covariance divided by the sum of their
 * energies. Below the first, one of the two is turned; above the second, it is turned back. Channels that are merely different lie near 0.
 */
const INVERSE = -0.7;
const ALIKE = 0.5;
/** Of recordings with more channels these are judged. */
const MOST_JUDGED = 8;

/**
 * Mixes the channels of one recording down to their mean, piece by piece. Channels that are each other's inverse (a balanced line on the
 * wrong adapter, some call recorders) would cancel and leave silence: one of them is turned before.
 */
export class ChannelMixer {
  readonly #rate: number;
  /** 1, or -1 for channels that are turned. */
  #signs: Int8Array = new Int8Array(0);
  #judge: PhaseJudge | undefined;

  /** @param sampleRate - samples a second */
  constructor(sampleRate: number) {
    this.#rate = sampleRate;
  }

  /** The next `length` samples of every channel, as one. */
  mix(channels: readonly ChannelSamples[], length: number): Float32Array {
    const mono = new Float32Array(length);
    const [first] = channels;
    if (!first) return mono;
    if (channels.length === 1) {
      mono.set(first.subarray(0, length));
      return mono;
    }
    if (this.#signs.length !== channels.length) {
      this.#signs = new Int8Array(channels.length).fill(1);
      this.#judge = new PhaseJudge(Math.min(channels.length, MOST_JUDGED), this.#rate);
    }
    const step = Math.max(1, Math.round(STEP_SECONDS * this.#rate));
    for (let from = 0; from < length; from += step) {
      const to = Math.min(length, from + step);
      const before = this.#signs.slice();
      this.#judge!.judge(channels, from, to, this.#signs);
      if (this.#signs.every((sign) => sign === 1)) mean(channels, from, to, mono);
      else signedMean(channels, from, to, this.#signs, mono);
      if (before.some((sign, channel) => sign !== this.#signs[channel])) {
        const ramp = Math.min(to, from + Math.round(RAMP_SECONDS * this.#rate));
        for (let frame = from; frame < ramp; frame++) {
          const share = (frame - from) / (ramp - from);
          mono[frame] = share * mono[frame]! + (1 - share) * signedAt(channels, frame, before);
        }
      }
    }
    return mono;
  }
}

function mean(channels: readonly ChannelSamples[], from: number, to: number, mono: Float32Array): void {
  if (channels.length === 2) {
    const [left, right] = [channels[0]!, channels[1]!];
    for (let frame = from; frame < to; frame++) mono[frame] = (left[frame]! + right[frame]!) / 2;
    return;
  }
  for (let frame = from; frame < to; frame++) {
    let sum = 0;
    for (const channel of channels) sum += channel[frame]!;
    mono[frame] = sum / channels.length;
  }
}

function signedMean(
  channels: readonly ChannelSamples[],
  from: number,
  to: number,
  signs: Int8Array,
  mono: Float32Array,
): void {
  for (let frame = from; frame < to; frame++) mono[frame] = signedAt(channels, frame, signs);
}

function signedAt(channels: readonly ChannelSamples[], frame: number, signs: Int8Array): number {
  let sum = 0;
  for (let channel = 0; channel < channels.length; channel++) sum += signs[channel]! * channels[channel]![frame]!;
  return sum / channels.length;
}

/**
 * Follows how alike channels are. It compares differences of neighbouring samples, in which a constant offset and hum, which may be
 * inverse in channels whose speech is not, count for nothing.
 */
class PhaseJudge {
  readonly #count: number;
  readonly #rate: number;
  /** Last sample of each channel. */
  readonly #last: Float64Array;
  /** Sums of products of all pairs, energies on the diagonal; older ones fade. */
  readonly #products: Float64Array;
  #frames = 0;

  constructor(count: number, rate: number) {
    this.#count = count;
    this.#rate = rate;
    this.#last = new Float64Array(count);
    this.#products = new Float64Array(count * count);
  }

  /** Looks at some frames and brings the signs of their channels up to date. */
  judge(channels: readonly ChannelSamples[], from: number, to: number, signs: Int8Array): void {
    const fading = Math.exp(-(to - from) / (MEMORY_SECONDS * this.#rate));
    for (let index = 0; index < this.#products.length; index++) this.#products[index] = this.#products[index]! * fading;
    if (this.#count === 2) this.#addPair(channels[0]!, channels[1]!, from, to);
    else
      for (let a = 0; a < this.#count; a++) {
        for (let b = a; b < this.#count; b++) this.#add(a, b, channels[a]!, channels[b]!, from, to);
      }
    for (let channel = 0; channel < this.#count; channel++) this.#last[channel] = channels[channel]![to - 1]!;
    this.#frames += to - from;
    if (this.#frames >= LEAST_SECONDS * this.#rate) this.#turn(signs);
  }

  #add(a: number, b: number, first: ChannelSamples, second: ChannelSamples, from: number, to: number): void {
    let [beforeFirst, beforeSecond] = [this.#last[a]!, this.#last[b]!];
    let sum = 0;
    for (let frame = from; frame < to; frame++) {
      const nowFirst = first[frame]!;
      const nowSecond = second[frame]!;
      sum += (nowFirst - beforeFirst) * (nowSecond - beforeSecond);
      beforeFirst = nowFirst;
      beforeSecond = nowSecond;
    }
    this.#products[a * this.#count + b] = this.#products[a * this.#count + b]! + sum;
  }

  /** The usual case in one go. */
  #addPair(left: ChannelSamples, right: ChannelSamples, from: number, to: number): void {
    let [beforeLeft, beforeRight] = [this.#last[0]!, this.#last[1]!];
    let [leftEnergy, rightEnergy, common] = [0, 0, 0];
    for (let frame = from; frame < to; frame++) {
      const nowLeft = left[frame]!;
      const nowRight = right[frame]!;
      const leftChange = nowLeft - beforeLeft;
      const rightChange = nowRight - beforeRight;
      leftEnergy += leftChange * leftChange;
      rightEnergy += rightChange * rightChange;
      common += leftChange * rightChange;
      beforeLeft = nowLeft;
      beforeRight = nowRight;
    }
    const products = this.#products;
    products[0] = products[0]! + leftEnergy;
    products[1] = products[1]! + common;
    products[3] = products[3]! + rightEnergy;
  }

  #product(a: number, b: number): number {
    return this.#products[Math.min(a, b) * this.#count + Math.max(a, b)]!;
  }

  /** From the loudest channel on, which stays as it is, each follows the one before it that it is most like, or most unlike. */
  #turn(signs: Int8Array): void {
    const order = Array.from({ length: this.#count }, (_, channel) => channel);
    order.sort((a, b) => this.#product(b, b) - this.#product(a, a));
    for (let place = 1; place < order.length; place++) {
      const channel = order[place]!;
      let [nearest, likeness] = [order[0]!, 0];
      for (const other of order.slice(0, place)) {
        const energy = this.#product(channel, channel) + this.#product(other, other);
        const here = energy > 0 ? (2 * this.#product(channel, other)) / energy : 0;
        if (Math.abs(here) > Math.abs(likeness)) [nearest, likeness] = [other, here];
      }
      if (likeness < INVERSE) signs[channel] = -signs[nearest]!;
      else if (likeness > ALIKE) signs[channel] = signs[nearest]!;
    }
  }
}
