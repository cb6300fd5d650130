import { setTimeout as delay } from "node:timers/promises";
import type { RgbImage } from "../media/rgb-image.js";
import type { ImageStep } from "./image-result.js";

/** Tokens of each picture, as far as they are made. */
type Grids = readonly (readonly number[])[];

export interface StepFeedOptions {
  /** Tokens of a whole picture. */
  of: number;
  push: (step: ImageStep) => void;
  /** `undefined`: no previews. */
  previewEvery: number | undefined;
  /** Decodes a preview of each picture; ends when the signal aborts. */
  decode(grids: Grids, signal: AbortSignal): Promise<RgbImage[]>;
  /** A preview could not be decoded. */
  onFailure(error: unknown): void;
  /** Milliseconds for which steps wait for a preview. */
  patienceMs?: number;
}

interface Entry {
  token: number;
  /** What the step's previews show; `undefined`: it has none. */
  grids: Grids | undefined;
}

/**
 * Tells steps in order, with previews. Where decoding is fast, a step that is due waits for its previews and those behind it
 * wait too. Where it is slow (a large model on a CPU), steps go on after a moment and the previews come with a later one; a preview
 * that becomes due meanwhile waits, and only the latest of them is decoded.
 */
export class StepFeed {
  readonly #options: StepFeedOptions;
  readonly #ends = new AbortController();
  readonly #queue: Entry[] = [];
  readonly #patienceMs: number;
  /** Tokens counted so far, and tokens told. */
  #counted = 0;
  #told = 0;
  /** A preview whose step was told without it. */
  #late: Promise<void> | undefined;
  #waiting: Entry | undefined;
  #isDraining = false;
  #draining: Promise<void> | undefined;

  constructor(options: StepFeedOptions) {
    this.#options = options;
    this.#patienceMs = options.patienceMs ?? 250;
  }

  /** Takes note of new tokens. */
  advance(pictures: Grids): void {
    const { of, previewEvery } = this.#options;
    const token = Math.floor(pictures.reduce((sum, { length }) => sum + length, 0) / pictures.length);
    const level = Math.min(...pictures.map(({ length }) => length));
    while (this.#counted < token) {
      const at = ++this.#counted;
      if (at === of && previewEvery !== undefined) break; // told by `complete`, with the finished pictures
      const isDue = previewEvery !== undefined && at % previewEvery === 0;
      // Pictures that wait for their turn keep the mean below what others have.
      const grids = isDue ? pictures.map((made) => made.slice(0, at <= level ? at : undefined)) : undefined;
      this.#queue.push({ token: at, grids });
    }
    if (!this.#isDraining) this.#draining = this.#drain();
  }

  /** All tokens are there: tells the steps that wait, then ends previews. What is late shows less than the pictures that come next. */
  async settle(): Promise<void> {
    await this.#draining;
    await this.end();
  }

  /** Ends previews: nothing but plain steps is told from now on. Resolves when none is being decoded. */
  async end(): Promise<void> {
    this.#waiting = undefined;
    this.#ends.abort();
    await this.#draining;
    await this.#late;
  }

  /**
   * Tells the last step, with the finished pictures where previews are asked for.
   *
   * @param decoding - of the finished pictures
   */
  async complete(decoding: Promise<RgbImage[]>): Promise<void> {
    const { of, push, previewEvery } = this.#options;
    if (previewEvery === undefined || this.#counted < of) return;
    // A failure is thrown where the pictures are awaited.
    const done = decoding.then(
      () => true,
      () => true,
    );
    if (!(await this.#inTime(done))) push({ token: of, of });
    const previews = await decoding.catch(() => undefined);
    if (previews) push({ token: of, of, previews, previewToken: of });
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    for (let entry; (entry = this.#queue.shift()) !== undefined;) {
      if (entry.grids === undefined || this.#ends.signal.aborted) this.#tell(entry.token);
      else if (this.#late) {
        this.#waiting = entry;
        this.#tell(entry.token);
      } else await this.#preview(entry.token, entry.grids);
    }
    this.#isDraining = false;
  }

  async #preview(token: number, grids: Grids): Promise<void> {
    const decoding = this.#decode(grids);
    if (await this.#inTime(decoding.then(() => true))) {
      this.#tell(token, await decoding, token);
      return;
    }
    this.#tell(token);
    this.#late = this.#tellLate(decoding, token);
  }

  async #tellLate(decoding: Promise<RgbImage[] | undefined>, token: number): Promise<void> {
    const previews = await decoding;
    if (previews) this.#tell(this.#told, previews, token);
    const next = this.#waiting;
    this.#waiting = undefined;
    if (next) await this.#tellLate(this.#decode(next.grids!), next.token);
    else this.#late = undefined;
  }

  /** `undefined`: there is none, because previews were ended or this one failed. */
  async #decode(grids: Grids): Promise<RgbImage[] | undefined> {
    const { signal } = this.#ends;
    try {
      return await this.#options.decode(grids, signal);
    } catch (error) {
      if (!signal.aborted) this.#options.onFailure(error);
      return undefined;
    }
  }

  async #inTime(done: Promise<boolean>): Promise<boolean> {
    const timer = new AbortController();
    const late = delay(this.#patienceMs, false, { signal: timer.signal }).catch(() => false);
    try {
      return await Promise.race([done, late]);
    } finally {
      timer.abort();
    }
  }

  #tell(token: number, previews?: RgbImage[], previewToken?: number): void {
    this.#told = Math.max(this.#told, token);
    const step: ImageStep = { token, of: this.#options.of };
    this.#options.push(previews ? { ...step, previews, previewToken: previewToken! } : step);
  }
}
