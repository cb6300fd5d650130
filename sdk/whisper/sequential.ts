import { decodeWindows, type WindowText } from "./decode-windows.js";
import type { FoundLanguage } from "./language-finder.js";
import { listenElsewhere } from "./listen-elsewhere.js";
import {
  addSegments,
  draftSegments,
  isInaudible,
  isSteady,
  speechIn,
  type AudioWindow,
  type RunContext,
} from "./run-context.js";
import { FRAMES_PER_SECOND, WINDOW_FRAMES } from "./whisper-facts.js";
import { tellOnTheWay } from "./window-progress.js";
import { windowPrompt } from "./window-prompt.js";
import { alignWindows, speechEnd } from "./words/align-windows.js";
import { findHallucinations } from "./words/hallucinations.js";
import { TRUSTED, type DraftSegment } from "./words/segment-words.js";

/** Above this temperature a text is too uncertain to condition the next one. */
const CONDITIONING_LIMIT = 0.5;

/**
 * Goes through audio window after window; each begins where the text before it ended (openai/whisper `transcribe`).
 */
export class SequentialRun {
  readonly #context: RunContext;
  /** Whether the decoder writes timestamps. */
  readonly #timestamps: boolean;
  /** Whether windows without speech give no text. */
  readonly #skipsSilence: boolean;
  /** Text that the next window continues. */
  #previous: number[] = [];
  /** The caller's prompt, as long as it holds. */
  #prompt: readonly number[];
  /** Where speech ended so far, in seconds. */
  lastSpeech = 0;

  constructor(context: RunContext) {
    this.#context = context;
    const { settings, promptIds } = context.call;
    // Longer audio needs timestamps to find the next window.
    this.#timestamps = settings.timestamps !== false || context.audio.frames > WINDOW_FRAMES;
    this.#prompt = promptIds;
    this.#skipsSilence = settings.noSpeechThreshold !== null;
  }

  /** Transcribes mel frames `from` to `to`. */
  async run(from: number, to: number): Promise<void> {
    const { engine, onSeconds } = this.#context;
    let seek = from;
    while (seek < to && !engine.ending) {
      const window = { seek, size: Math.min(WINDOW_FRAMES, to - seek) };
      const next = await this.#window(window, to);
      // A window that does not move on would be heard for ever.
      seek = next > seek ? next : seek + window.size;
      onSeconds(Math.min(seek, to) / FRAMES_PER_SECOND);
    }
  }

  /** Transcribes a window and tells where the next one begins. */
  async #window(window: AudioWindow, to: number): Promise<number> {
    const { engine, languages, audio } = this.#context;
    // Nothing can be heard there: the no-speech rule would say so at the cost of a run of the encoder.
    if (this.#skipsSilence && isInaudible(this.#context, window)) return window.seek + window.size;
    // At the end of short audio the window holds the padding that its spectrogram was computed with.
    const count = to === audio.frames ? Math.min(WINDOW_FRAMES, audio.mel.frames - window.seek) : window.size;
    const handles = await engine.encode([{ mel: audio.mel, start: window.seek, count }]);
    try {
      const [handle] = handles;
      if (handle === undefined || engine.ending) return window.seek;
      const heard = { handle, speech: speechIn(this.#context, window) };
      const [language] = await languages.find([heard], listenElsewhere(this.#context, window.seek + window.size));
      const text = await tellOnTheWay(this.#context, [window.seek, window.seek + window.size], () =>
        this.#decode(handle, window, language!),
      );
      if (engine.ending && engine.ending !== "stop") return window.seek;
      const done = window.seek + window.size;
      if (text.silent) return done;
      languages.note(language!, window.size / FRAMES_PER_SECOND);
      return await this.#place(handle, window, text, language!, to);
    } finally {
      engine.release(handles);
    }
  }

  async #decode(handle: number, window: AudioWindow, { language }: FoundLanguage): Promise<WindowText> {
    const { model, call } = this.#context;
    const prompt = windowPrompt(model.facts, call, {
      language,
      timestamps: this.#timestamps,
      prompt: this.#prompt,
      previous: this.#previous,
    });
    const seed = (call.settings.seed + window.seek) % Number.MAX_SAFE_INTEGER;
    const steady = isSteady(this.#context, window);
    const [text] = await decodeWindows(this.#context, [{ handle, ...prompt, seed, steady }], this.#timestamps);
    return text!;
  }

  async #place(
    handle: number,
    window: AudioWindow,
    text: WindowText,
    { language }: FoundLanguage,
    to: number,
  ): Promise<number> {
    const { settings } = this.#context.call;
    const { drafts, cut } = draftSegments(this.#context, text, window, this.#timestamps);
    let next = window.seek + cut.advance;
    let kept = drafts;
    if (settings.timestamps === "word") {
      const offset = window.seek / FRAMES_PER_SECOND;
      await alignWindows(
        this.#context,
        [{ handle, frames: window.size, offset, language, segments: drafts }],
        this.lastSpeech,
      );
      ({ kept, next } = this.#followWords(drafts, window, { next, complete: cut.complete, to }));
    }
    this.lastSpeech = speechEnd(kept) ?? this.lastSpeech;
    addSegments(this.#context, kept, text, language);
    this.#remember(kept, text);
    return next;
  }

  /** Words tell better where speech ended, and whether it was speech at all. */
  #followWords(
    drafts: DraftSegment[],
    { seek, size }: AudioWindow,
    { next, complete, to }: { next: number; complete: boolean; to: number },
  ): { kept: DraftSegment[]; next: number } {
    const threshold = this.#context.call.settings.hallucinationSilenceThreshold;
    const start = seek / FRAMES_PER_SECOND;
    const fullEnd = start + WINDOW_FRAMES / FRAMES_PER_SECOND;
    const wordsEnd = speechEnd(drafts);
    let resume = next;
    if (!complete && wordsEnd !== undefined && wordsEnd > start) {
      const isFar = threshold === null || fullEnd - wordsEnd > threshold;
      resume = isFar ? Math.round(wordsEnd * FRAMES_PER_SECOND) : seek + size;
      // A word that ends long after its segment reaches into what is said next.
      if (isFar && resume > next + TRUSTED * FRAMES_PER_SECOND) resume = next;
    }
    if (threshold === null) return { kept: drafts, next: resume };
    const end = (seek + size) / FRAMES_PER_SECOND;
    const place = { start, end, fullEnd, lastSpeech: this.lastSpeech, audioEnd: to / FRAMES_PER_SECOND };
    const { kept, resumeAt } = findHallucinations(drafts, place, threshold);
    return {
      kept: drafts.slice(0, kept),
      next: resumeAt === undefined ? resume : Math.round(resumeAt * FRAMES_PER_SECOND),
    };
  }

  #remember(drafts: readonly DraftSegment[], { triedTemperature }: WindowText): void {
    const { call } = this.#context;
    const { conditionOnPreviousText, carryPrompt } = call.settings;
    if (conditionOnPreviousText && triedTemperature <= CONDITIONING_LIMIT) {
      // A prompt that is not carried on is pushed out by the text that follows it.
      const before = carryPrompt ? this.#previous : [...this.#prompt, ...this.#previous];
      this.#previous = [...before, ...drafts.flatMap(({ ids }) => ids)].slice(-call.previousRoom);
    } else {
      this.#previous = [];
    }
    if (!carryPrompt) this.#prompt = [];
  }
}
