import type { FinishReason } from "../core/finish-reason.js";
import type { Metrics } from "../core/metrics.js";

/** A word and when it was said, in seconds from the beginning of the audio. */
export interface TranscriptWord {
  /** With its leading space and punctuation, so that joined words give the segment's text. */
  word: string;
  start: number;
  end: number;
  /** Mean probability of the word's tokens, 0 to 1. */
  probability: number;
}

/** A stretch of speech as the model cut it; times in seconds from the beginning of the audio. */
export interface TranscriptSegment {
  start: number;
  /** Always a number, at most the audio's duration. */
  end: number;
  text: string;
  /** Token ids, timestamps included. */
  tokens: number[];
  /** Temperature of the decoding that was kept. */
  temperature: number;
  /** Mean natural logarithm of the tokens' probabilities, over the window. */
  avgLogprob: number;
  /** Bytes of the window's text divided by its size under zlib; above 2.4 the text repeats itself. */
  compressionRatio: number;
  /** Probability that the window holds no speech. */
  noSpeechProb: number;
  /** Language of the window, where it is detected for each window. */
  language?: string;
  /** With `timestamps: "word"`. */
  words?: TranscriptWord[];
}

/** What was said in an audio file. */
export interface Transcript {
  /** All segments' texts joined, without white space at both ends. */
  text: string;
  /** ISO code, for example `en`. */
  language: string;
  /** 1 when the language was given or the model knows only one. */
  languageProbability: number;
  /** Length of the audio in seconds. */
  duration: number;
  segments: TranscriptSegment[];
  /** `stop`: the audio ended, or `stop()` or `break` ended it; `cancelled`. Nothing else ends a transcript. */
  finishReason: FinishReason;
  metrics: TranscriptMetrics;
}

/** Times of a transcription, beside those every pipeline has. `ttftMs` is the time to the first segment. */
export interface TranscriptMetrics extends Metrics {
  /** Processing time divided by the audio's duration; below 1 is faster than real time. */
  realTimeFactor: number;
  /** Windows of up to 30 s that were encoded. */
  windows: number;
  /** Windows decoded again at a higher temperature. */
  fallbacks: number;
}
