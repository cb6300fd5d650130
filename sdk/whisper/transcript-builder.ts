import type { MetricsClock } from "../core/metrics.js";
import type { TranscriptSegment, TranscriptWord } from "./transcript.js";
import type { DraftSegment } from "./words/segment-words.js";
import type { WindowText } from "./decode-windows.js";

/** Collects segments in their final form: times of the whole audio, in order, within its length. */
export class TranscriptBuilder {
  readonly segments: TranscriptSegment[] = [];
  readonly #offset: number;
  /** Where the audio ends, in seconds. */
  readonly #end: number;
  readonly #clock: MetricsClock;
  readonly #push: (segment: TranscriptSegment) => void;
  #lastStart: number;

  /**
   * @param offset - seconds at which the audio that was read begins
   * @param seconds - its length
   */
  constructor(offset: number, seconds: number, clock: MetricsClock, push: (segment: TranscriptSegment) => void) {
    this.#offset = offset;
    this.#end = offset + seconds;
    this.#lastStart = offset;
    this.#clock = clock;
    this.#push = push;
  }

  get text(): string {
    return this.segments
      .map(({ text }) => text)
      .join("")
      .trim();
  }

  /** Segments without text are left out. */
  add(draft: DraftSegment, window: WindowText, language: string | undefined): void {
    if (draft.text.trim() === "") return;
    const start = this.#within(draft.start, this.#lastStart);
    const end = this.#within(draft.end, start);
    this.#lastStart = start;
    const segment: TranscriptSegment = {
      start,
      end,
      text: draft.text,
      tokens: draft.ids,
      temperature: window.temperature,
      avgLogprob: window.avgLogprob,
      compressionRatio: window.compressionRatio,
      noSpeechProb: window.noSpeechProb,
      ...(language === undefined ? {} : { language }),
      ...(draft.words && { words: this.#placeWords(draft.words, start, end) }),
    };
    this.segments.push(segment);
    this.#clock.firstOutput();
    this.#push(segment);
  }

  #placeWords(words: readonly TranscriptWord[], start: number, end: number): TranscriptWord[] {
    let earliest = start;
    return words.map((word) => {
      const from = Math.min(end, this.#within(word.start, earliest));
      const to = Math.min(end, this.#within(word.end, from));
      earliest = from;
      return { word: word.word, start: from, end: to, probability: word.probability };
    });
  }

  /** A time of the audio that was read as one of the whole, no earlier than `earliest`, to the millisecond. */
  #within(seconds: number, earliest: number): number {
    const time = Math.round((this.#offset + seconds) * 1000) / 1000;
    return Math.min(this.#end, Math.max(earliest, time));
  }
}
