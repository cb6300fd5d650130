import { MetricsClock } from "../../core/metrics.js";
import type { StreamControl } from "../../core/stream.js";
import { openAudio } from "../../media/audio.js";
import type { DecodeContext } from "../decode-windows.js";
import { LanguageFinder } from "../language-finder.js";
import { WhisperEngine, type EngineControl } from "../whisper-engine.js";
import type { LoadedWhisper } from "../whisper-model.js";
import type { WhisperCall } from "../whisper-settings.js";
import { LiveDecoder } from "./live-decoder.js";
import type { LiveEvent, LiveResult } from "./live-event.js";
import { UtteranceCutter, type Utterance } from "./utterances.js";

/** Utterances that may wait for their final decoding; reading pauses when there are more. */
const MOST_WAITING = 2;

/** What is to be listened to, and how. */
export interface LiveRequest {
  chunks: unknown;
  sampleRate: number | undefined;
  call: WhisperCall;
}

/**
 * Listens to audio as it comes, and writes down all that was heard: what is being said when the audio ends, when its source fails or when
 * `stop()` is called gets its final too. Reading and decoding run side by side: an utterance that has ended is decoded first; otherwise the
 * current one is, when enough of it is new. Where decoding is slower than speech partials are left out, and when finals wait
 * reading does too. What is kept never exceeds a few windows of audio.
 */
export async function listen(
  model: LoadedWhisper,
  { chunks, sampleRate, call }: LiveRequest,
  control: StreamControl<LiveEvent>,
): Promise<LiveResult> {
  const run = new ListeningRun(model, call, control);
  try {
    await run.run(chunks, sampleRate);
  } finally {
    run.close();
  }
  return run.result();
}

class ListeningRun {
  readonly #call: WhisperCall;
  readonly #control: StreamControl<LiveEvent>;
  readonly #clock: MetricsClock;
  /** For finals, which `stop()` does not end, and for partials, which it does. */
  readonly #engine: WhisperEngine;
  readonly #partialEngine: WhisperEngine;
  readonly #languages: LanguageFinder;
  readonly #decoder: LiveDecoder;
  readonly #cutter: UtteranceCutter;
  readonly #reading = new AbortController();
  readonly #waiting: Utterance[] = [];
  readonly #changed = new Signal();
  /** The utterance that was decoded last, and how long it was. */
  #decoded: { utterance: Utterance; seconds: number } | undefined;
  #isRead = false;
  #failed = false;
  #utterances = 0;
  readonly #texts: string[] = [];
  #fallbacks = 0;

  constructor(model: LoadedWhisper, call: WhisperCall, control: StreamControl<LiveEvent>) {
    this.#call = call;
    this.#control = control;
    this.#clock = new MetricsClock(model.loadMs);
    this.#engine = new WhisperEngine(model.transcriber, withoutStop(control), this.#clock);
    this.#partialEngine = new WhisperEngine(model.transcriber, control, this.#clock);
    this.#languages = new LanguageFinder(model.facts, call, this.#engine);
    this.#cutter = new UtteranceCutter(call.settings.pause);
    const context: DecodeContext = {
      ...{ model, call, engine: this.#engine, clock: this.#clock },
      onFallback: (windows) => {
        this.#fallbacks += windows;
      },
    };
    this.#decoder = new LiveDecoder(context, this.#partialEngine, this.#languages);
    control.onEnding(() => {
      this.#reading.abort();
      this.#changed.raise();
    });
  }

  async run(chunks: unknown, sampleRate: number | undefined): Promise<void> {
    const decoding = this.#decode().catch((error: unknown) => {
      // Reading has to end before the error is told.
      this.#failed = true;
      this.#reading.abort();
      this.#changed.raise();
      throw error;
    });
    const reading = this.#read(chunks, sampleRate).finally(() => {
      this.#isRead = true;
      this.#changed.raise();
    });
    const [read, decoded] = await Promise.allSettled([reading, decoding]);
    for (const outcome of [decoded, read]) if (outcome.status === "rejected") throw outcome.reason;
  }

  close(): void {
    this.#partialEngine.close();
    this.#engine.close();
  }

  result(): LiveResult {
    const { language, probability } = this.#languages.result;
    const metrics = this.#clock.finishJobs(this.#engine.tokens + this.#partialEngine.tokens);
    const duration = this.#cutter.seconds;
    const { tokenize, preprocess, encode, prefill, decode, detokenize } = metrics.stages;
    const busyMs = tokenize + preprocess + encode + prefill + decode + detokenize;
    return {
      text: this.#texts.join("").trim(),
      duration,
      utterances: this.#utterances,
      language,
      languageProbability: probability,
      finishReason: this.#control.ending === "cancel" ? "cancelled" : "stop",
      metrics: {
        ...metrics,
        realTimeFactor: duration > 0 ? busyMs / 1000 / duration : 0,
        windows: this.#engine.windows + this.#partialEngine.windows,
        fallbacks: this.#fallbacks,
      },
    };
  }

  /** Nothing is to be read any more; what was heard may still be written down. */
  get #isEnded(): boolean {
    return this.#failed || this.#control.ending !== undefined;
  }

  /** Nothing is to be told any more. */
  get #isOver(): boolean {
    return this.#failed || (this.#control.ending !== undefined && this.#control.ending !== "stop");
  }

  async #read(chunks: unknown, sampleRate: number | undefined): Promise<void> {
    try {
      for await (const piece of await openAudio(chunks, { sampleRate, signal: this.#reading.signal })) {
        this.#waiting.push(...this.#cutter.push(piece));
        this.#changed.raise();
        while (this.#waiting.length > MOST_WAITING && !this.#isEnded) await this.#changed.wait();
        if (this.#isEnded) break;
      }
    } catch (error) {
      if (!this.#isEnded) throw error;
    } finally {
      // Also where the source failed: what was heard before is told first.
      const last = this.#cutter.finish();
      if (last) this.#waiting.push(last);
    }
  }

  async #decode(): Promise<void> {
    while (!this.#isOver) {
      const ended = this.#waiting[0];
      const growing = ended ? undefined : this.#grown();
      if (ended) {
        const event = await this.#decoder.final(ended);
        this.#waiting.shift();
        if (event) this.#tell(event);
        this.#changed.raise();
      } else if (growing) {
        this.#decoded = { utterance: growing, seconds: growing.seconds };
        const event = await this.#decoder.partial(growing);
        // A reader that is behind gets the newest when it is ready.
        if (event && this.#control.unread === 0 && !this.#isEnded) this.#tell(event);
      } else if (this.#isRead) {
        return;
      } else {
        await this.#changed.wait();
      }
    }
  }

  /** What is being said, if enough of it is new. */
  #grown(): Utterance | undefined {
    const { partialEvery } = this.#call.settings;
    const { current } = this.#cutter;
    if (partialEvery === 0 || !current || this.#isRead || this.#isEnded) return undefined;
    const known = this.#decoded?.utterance === current ? this.#decoded.seconds : 0;
    return current.seconds - known >= partialEvery ? current : undefined;
  }

  #tell(event: LiveEvent): void {
    if (this.#isOver) return;
    this.#clock.firstOutput();
    if (event.type === "final" && event.text !== "") {
      this.#utterances++;
      this.#texts.push(event.segment.text);
    }
    this.#control.push(event);
  }
}

/** `stop()` ends listening, but what was heard is still written down. */
function withoutStop(control: StreamControl<LiveEvent>): EngineControl {
  return {
    get ending() {
      return control.ending === "stop" ? undefined : control.ending;
    },
    onEnding: (listener) => {
      control.onEnding((kind) => {
        if (kind !== "stop") listener(kind);
      });
    },
  };
}

/** Wakes those who wait for a change. */
class Signal {
  #waiting: (() => void)[] = [];

  wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  raise(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
