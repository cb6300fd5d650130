import type { TranscriptionProgress } from "./whisper-options.js";

/** Share of the whole that reading the audio takes. */
const AUDIO_SHARE = 0.05;

/** Tells a caller how far a transcription is; the fraction only grows. */
export class ProgressTeller {
  readonly #listener: ((progress: TranscriptionProgress) => void) | undefined;
  #fraction = 0;
  #speech = 0;

  constructor(listener: ((progress: TranscriptionProgress) => void) | undefined) {
    this.#listener = listener;
  }

  audio(seconds: number, of: number | undefined): void {
    const share = of === undefined || of <= 0 ? 0 : Math.min(1, seconds / of);
    this.#tell("audio", seconds, of, share * AUDIO_SHARE);
  }

  speech(seconds: number, of: number): void {
    // A window may be done with less of the audio than was expected on the way.
    this.#speech = Math.max(this.#speech, seconds);
    this.#tell("speech", this.#speech, of, AUDIO_SHARE + (1 - AUDIO_SHARE) * (of > 0 ? Math.min(1, seconds / of) : 1));
  }

  #tell(stage: TranscriptionProgress["stage"], seconds: number, of: number | undefined, fraction: number): void {
    this.#fraction = Math.max(this.#fraction, fraction);
    this.#listener?.({ stage, seconds, ...(of === undefined ? {} : { of }), fraction: this.#fraction });
  }
}
