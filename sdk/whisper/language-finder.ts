import type { WhisperEngine } from "./whisper-engine.js";
import type { WhisperFacts } from "./whisper-facts.js";
import type { WhisperCall } from "./whisper-settings.js";

export interface FoundLanguage {
  language: string;
  /** 1 where it was given, or where the model knows only one. */
  probability: number;
  /** What the window itself said, where it was listened to. */
  evidence?: Evidence;
}

/** What one window says about its language. */
interface Evidence {
  probabilities: Float32Array;
  weight: number;
}

/** A window that was encoded. */
export interface ListenedWindow {
  handle: number;
  /** Seconds of speech in it. */
  speech: number;
}

/** Encodes a further window in which somebody speaks, and gives it back afterwards; `undefined` where there is none. */
export type ListenElsewhere = () => Promise<(ListenedWindow & { release: () => void }) | undefined>;

/** Code of "undetermined" (BCP 47): nothing was heard. */
const UNDETERMINED: FoundLanguage = { language: "und", probability: 0 };

/** More seconds of speech say no more about their language. */
const ENOUGH_SPEECH = 5;
/** A language is certain from this mean probability on, if it was found in so many (weighted) seconds of speech. */
const SURE = { probability: 0.5, seconds: 0.5 };
/** Weight of a window in which nobody seems to speak: it counts only where there is no other. */
const HARDLY_ANY = 1e-6;
/** Further windows that are listened to where the first ones leave the language open. */
const MOST_ELSEWHERE = 3;

/**
 * Knows or finds out what is spoken. A recording has one language: the windows that were heard vote, each with its seconds of speech,
 * how likely they are speech to the model, and how sure it is of their language, so that noise and music in front of the
 * speech do not decide. Or each window has its own.
 */
export class LanguageFinder {
  readonly #facts: WhisperFacts;
  readonly #engine: WhisperEngine;
  readonly #eachWindow: boolean;
  #settled: FoundLanguage | undefined;
  #heard: FoundLanguage | undefined;
  /** What windows with text said, and windows that were listened to for their language only. */
  readonly #votes: Evidence[] = [];
  #elsewhere = 0;
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

  /**
   * The language of encoded windows, one for each: its own, or the one for which they and the windows before them vote.
   *
   * @param elsewhere - where to listen if they leave it open
   */
  async find(windows: readonly ListenedWindow[], elsewhere?: ListenElsewhere): Promise<FoundLanguage[]> {
    if (this.#settled) return windows.map(() => this.#settled!);
    const found = await this.#listen(windows);
    if (this.#eachWindow) {
      const own = found.map((evidence) => this.#elect([evidence]));
      this.#heard ??= own[0];
      return own;
    }
    while (elsewhere && this.#elsewhere < MOST_ELSEWHERE && !isSure(this.#votesWith(found))) {
      this.#elsewhere++;
      const further = await elsewhere();
      if (!further) break;
      this.#votes.push(...(await this.#listen([further]).finally(further.release)));
    }
    const elected = this.#elect(this.#votesWith(found));
    this.#heard ??= elected;
    return found.map((evidence) => ({ ...elected, evidence }));
  }

  /** A window in this language had speech. */
  note(found: FoundLanguage, seconds: number): void {
    if (!this.#eachWindow && !this.#settled && found.evidence) {
      this.#votes.push(found.evidence);
      if (isSure(this.#votes)) this.#settled = this.#elect(this.#votes);
    }
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

  async #listen(windows: readonly ListenedWindow[]): Promise<Evidence[]> {
    const rows = await this.#engine.detect(
      windows.map(({ handle }) => handle),
      [...this.#facts.languages.values()],
    );
    return rows.map(({ probabilities, noSpeechProb }, index) => ({
      probabilities,
      weight: Math.max(
        HARDLY_ANY,
        Math.min(ENOUGH_SPEECH, windows[index]!.speech) * (1 - noSpeechProb) * Math.max(...probabilities),
      ),
    }));
  }

  /** What is decided so far; votes that wait for their window's text are the last. */
  #votesWith(found: readonly Evidence[]): Evidence[] {
    return [...this.#votes, ...found];
  }

  #elect(votes: readonly Evidence[]): FoundLanguage {
    const codes = [...this.#facts.languages.keys()];
    const means = meansOf(votes);
    const best = means.indexOf(Math.max(...means));
    return { language: codes[best]!, probability: means[best]! };
  }
}

/** Mean probability of each language, by weight. */
function meansOf(votes: readonly Evidence[]): number[] {
  // The mean of one is itself, to the last digit.
  if (votes.length === 1) return [...votes[0]!.probabilities];
  const total = votes.reduce((sum, { weight }) => sum + weight, 0);
  return Array.from(votes[0]!.probabilities, (_, index) =>
    votes.reduce((sum, { probabilities, weight }) => sum + (probabilities[index]! * weight) / total, 0),
  );
}

function isSure(votes: readonly Evidence[]): boolean {
  const seconds = votes.reduce((sum, { weight }) => sum + weight, 0);
  return seconds >= SURE.seconds && Math.max(...meansOf(votes)) >= SURE.probability;
}
