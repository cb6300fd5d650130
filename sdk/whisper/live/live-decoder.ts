import { decodeWindows, type DecodeContext, type WindowText } from "../decode-windows.js";
import type { FoundLanguage, LanguageFinder } from "../language-finder.js";
import { textOf } from "../run-context.js";
import type { TranscriptSegment } from "../transcript.js";
import { FRAMES_PER_SECOND, SAMPLES_PER_FRAME, WINDOW_FRAMES } from "../whisper-facts.js";
import { windowPrompt } from "../window-prompt.js";
import type { WhisperEngine } from "../whisper-engine.js";
import { alignWindows } from "../words/align-windows.js";
import type { DraftSegment } from "../words/segment-words.js";
import type { FinalCaption, PartialCaption } from "./live-event.js";
import { StableText } from "./stable-text.js";
import { GATE_STEP } from "../speech/voice-gate.js";
import type { Utterance } from "./utterances.js";

/** Above this temperature a text is too uncertain to condition the next one. */
const CONDITIONING_LIMIT = 0.5;

interface Decoded {
  text: WindowText;
  language: FoundLanguage;
  words: DraftSegment | undefined;
}

/** Decodes utterances, growing and ended ones, each as a window of its own. */
export class LiveDecoder {
  readonly #context: DecodeContext;
  readonly #partialContext: DecodeContext;
  readonly #languages: LanguageFinder;
  /** What is certain of utterances that go on. */
  readonly #stable = new WeakMap<Utterance, StableText>();
  /** Utterances that something was told about. */
  readonly #told = new WeakSet<Utterance>();
  /** Text that the next utterance continues. */
  #previous: number[] = [];
  #decodings = 0;

  /** @param partialEngine - what partials are decoded with, so that they can end before finals do */
  constructor(context: DecodeContext, partialEngine: WhisperEngine, languages: LanguageFinder) {
    this.#context = context;
    this.#partialContext = { ...context, engine: partialEngine };
    this.#languages = languages;
  }

  /** What is being said; `undefined` if there is nothing to tell. */
  async partial(utterance: Utterance): Promise<PartialCaption | undefined> {
    const end = utterance.start + utterance.seconds;
    const decoded = await this.#decode(utterance, true);
    if (!decoded || decoded.text.silent || !decoded.text.passed || decoded.text.text === "") return undefined;
    const { model } = this.#context;
    const stable = this.#stableOf(utterance);
    stable.add(decoded.text.ids, model.tokenizer, decoded.language.language);
    this.#told.add(utterance);
    const { start } = utterance;
    return { type: "partial", start, end, text: decoded.text.text, stable: textOf(model, stable.ids).trim() };
  }

  /** What was said; `undefined` if nothing was, and nothing was told before. */
  async final(utterance: Utterance): Promise<FinalCaption | undefined> {
    const decoded = await this.#decode(utterance, false);
    if (!decoded) return undefined;
    const { text, language, words } = decoded;
    const { start } = utterance;
    const end = start + utterance.seconds;
    // What was told as certain stays.
    const isCertain = this.#stableOf(utterance).ids.length > 0;
    const isSpeech = text.text !== "" && (!text.silent || isCertain);
    if (!isSpeech && !this.#told.has(utterance)) return undefined;
    if (isSpeech) this.#remember(text, language, utterance);
    const segment: TranscriptSegment = {
      start: words?.start ?? start,
      end: words?.end ?? end,
      text: isSpeech ? textOf(this.#context.model, text.ids) : "",
      tokens: isSpeech ? text.ids : [],
      temperature: text.temperature,
      avgLogprob: text.avgLogprob,
      compressionRatio: text.compressionRatio,
      noSpeechProb: text.noSpeechProb,
      language: language.language,
      ...(words?.words && { words: words.words }),
    };
    return { type: "final", start: segment.start, end: segment.end, text: segment.text.trim(), segment };
  }

  #stableOf(utterance: Utterance): StableText {
    let stable = this.#stable.get(utterance);
    if (!stable) this.#stable.set(utterance, (stable = new StableText()));
    return stable;
  }

  #remember({ ids, triedTemperature }: WindowText, language: FoundLanguage, utterance: Utterance): void {
    const { call } = this.#context;
    this.#languages.note(language, utterance.seconds);
    const isConditioned = call.settings.conditionOnPreviousText && triedTemperature <= CONDITIONING_LIMIT;
    this.#previous = isConditioned ? [...this.#previous, ...ids].slice(-call.previousRoom) : [];
  }

  async #decode(utterance: Utterance, isPartial: boolean): Promise<Decoded | undefined> {
    const { model, call, engine, clock } = isPartial ? this.#partialContext : this.#context;
    const samples = utterance.samples();
    const mel = model.native.createLogMel(model.facts.melBins);
    await clock.measureAsync("preprocess", async () => {
      const padded = new Float32Array(WINDOW_FRAMES * SAMPLES_PER_FRAME);
      padded.set(samples);
      await mel.append(padded);
      await mel.finish();
    });
    const handles = await engine.encode([{ mel, start: 0, count: WINDOW_FRAMES }]);
    try {
      // Frames are not needed any more, and JavaScript may keep their owner for long.
      mel.discard(mel.frames);
      const [handle] = handles;
      if (handle === undefined || engine.ending) return undefined;
      const [language] = await this.#languages.find([{ handle, speech: utterance.speechSteps * GATE_STEP }]);
      const text = isPartial
        ? await this.#write(handle, language!, this.#stableOf(utterance).ids, true)
        : await this.#writeFinal(handle, language!, this.#stableOf(utterance).ids);
      if (engine.ending) return undefined;
      const wantsWords = !isPartial && call.settings.timestamps === "word" && !text.silent;
      const frames = Math.floor(samples.length / SAMPLES_PER_FRAME);
      const words = wantsWords ? await this.#words(handle, frames, utterance, text, language!.language) : undefined;
      return { text, language: language!, words };
    } finally {
      engine.release(handles);
    }
  }

  /** The whole is heard better than its parts were: what was told as certain only binds where it has to. */
  async #writeFinal(handle: number, language: FoundLanguage, stable: readonly number[]): Promise<WindowText> {
    const free = await this.#write(handle, language, [], false);
    const told = textOf(this.#context.model, stable).trim();
    if (free.text.startsWith(told) || this.#context.engine.ending) return free;
    return this.#write(handle, language, stable, false);
  }

  async #write(
    handle: number,
    { language }: FoundLanguage,
    prefix: readonly number[],
    isPartial: boolean,
  ): Promise<WindowText> {
    const { model, call } = this.#context;
    const parts = { language, timestamps: false, prompt: call.promptIds, previous: this.#previous, prefix };
    const prompt = windowPrompt(model.facts, call, parts);
    const seed = (call.settings.seed + this.#decodings++) % Number.MAX_SAFE_INTEGER;
    // A partial that fails is not worth a second try: the next one is on its way.
    const temperature = call.settings.temperature.slice(0, isPartial ? 1 : undefined);
    const base = isPartial ? this.#partialContext : this.#context;
    const context = { ...base, call: { ...call, settings: { ...call.settings, temperature } } };
    const [text] = await decodeWindows(context, [{ handle, ...prompt, seed, prefix }], false);
    return text!;
  }

  async #words(
    handle: number,
    frames: number,
    { start }: Utterance,
    { ids }: WindowText,
    language: string,
  ): Promise<DraftSegment> {
    const end = start + frames / FRAMES_PER_SECOND;
    const segment: DraftSegment = { start, end, ids, text: textOf(this.#context.model, ids) };
    await alignWindows(this.#context, [{ handle, frames, offset: start, language, segments: [segment] }], start);
    return segment;
  }
}
