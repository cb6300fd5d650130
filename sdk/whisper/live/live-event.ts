import type { FinishReason } from "../../core/finish-reason.js";
import type { TranscriptMetrics, TranscriptSegment } from "../transcript.js";

/** What is being said, before it is certain. */
export interface PartialCaption {
  type: "partial";
  /** Seconds from the beginning of the audio. */
  start: number;
  /** Where the audio that was heard so far ends. */
  end: number;
  text: string;
  /** The beginning of `text` that will not change any more. */
  stable: string;
}

/** What was said between two pauses (or in 30 s without one). */
export interface FinalCaption {
  type: "final";
  /** Seconds from the beginning of the audio. */
  start: number;
  end: number;
  /** Empty if what seemed to be speech was none although a partial was told. */
  text: string;
  segment: TranscriptSegment;
}

/** An event of {@link WhisperPipeline.live}. Any number of partials, then one final, for each utterance; utterances in order. */
export type LiveEvent = PartialCaption | FinalCaption;

/** What a live stream was, told at its end. */
export interface LiveResult {
  /** All finals' texts joined, without white space at both ends. */
  text: string;
  /** Seconds of audio. */
  duration: number;
  /** Finals with text. */
  utterances: number;
  /** ISO code; `und` if nothing was said. */
  language: string;
  languageProbability: number;
  /** `stop`: the audio ended, or `stop()` or `break` ended it; `cancelled`. Nothing else ends live audio. */
  finishReason: FinishReason;
  /** `realTimeFactor` counts the time of computing only. */
  metrics: TranscriptMetrics;
}
