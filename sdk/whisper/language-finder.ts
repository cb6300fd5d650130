import type { WhisperEngine } from "./whisper-engine.js";
import type { WhisperFacts } from "./whisper-facts.js";
import type { WhisperCall } from "./whisper-settings.js";

export interface FoundLanguage {
  language: string;
  /** 1 where it was given, or where the model knows only one. */
  probability: number;
}

/** Code of "undetermined" (BCP 47): nothing was heard. */
const UNDETERMINED: FoundLanguage = { language: "und", probability: 0 };

/** Knows or finds out what is spoken: once, in the first window with speech, or for each window. */
export class LanguageFinder {
  readonly #facts: WhisperFacts;
  readonly #engine: WhisperEngine;
  readonly #eachWindow: boolean;
  #settled: FoundLanguage | undefined;
  #heard: FoundLanguage | undefined;
  /** Seconds of text in each language, and the probabilities found in those windows. */
  readonly #shares = new Map<string, { seconds: number; weighted: number }>();

  constructor(facts: WhisperFacts, call: WhisperCall, engine: WhisperEngine) {
    this.#facts = facts;
    this.#engine = engine;
    this.#eachWindow = call.settings.detectLanguagePerWindow;
    const given = call.settings.language ?? (facts.languages.size === 0 ? "en" : undefined);
    if (given !== undefined) this.#settled = { language: given, probability: 1 };
  }

  /** Whether {@link find} would have to listen to every window. */
  get eachWindow(): boolean {
    return this.#eachWindow;
  }

  /** The language of encoded windows, one for each; only the first is listened to unless each has its own. */
  async find(handles: readonly number[]): Promise<FoundLanguage[]> {
    if (this.#settled) return handles.map(() => this.#settled!);
    const listened = this.#eachWindow ? handles : handles.slice(0, 1);
    const rows = await this.#engine.detect([...listened], [...this.#facts.languages.values()]);
    const found = rows.map((probabilities) => this.#likeliest(probabilities));
    this.#heard ??= found[0];
    return handles.map((_, index) => found[index] ?? found[0]!);
  }

  /** A window in this language had speech. */
  note(found: FoundLanguage, seconds: number): void {
    if (!this.#eachWindow) this.#settled ??= found;
    const share = this.#shares.get(found.language) ?? { seconds: 0, weighted: 0 };
    share.seconds += seconds;
    share.weighted += seconds * found.probability;
    this.#shares.set(found.language, share);
  }

  /** The language of the whole: the one most of the text is in. */
  get result(): FoundLanguage {
    if (this.#settled) return this.#settled;
    let best = this.#heard ?? UNDETERMINED;
    let most = 0;
    for (const [language, { seconds, weighted }] of this.#shares) {
      if (seconds <= most) continue;
      most = seconds;
      best = { language, probability: weighted / seconds };
    }
    return best;
  }

  #likeliest(probabilities: Float32Array): FoundLanguage {
    const codes = [...this.#facts.languages.keys()];
    let best = 0;
    for (let index = 1; index < codes.length; index++) {
      if (probabilities[index]! > probabilities[best]!) best = index;
    }
    return { language: codes[best]!, probability: probabilities[best]! };
  }
}
