import { blaming, captureCallSite, type CallSite } from "../core/call-site.js";
import type { Explanation } from "../core/explain.js";
import type { NativeTranscriberInfo } from "../core/native-types.js";
import { INTERNAL, Pipeline } from "../core/pipeline.js";
import type { PipelineStream } from "../core/stream.js";
import type { AudioInput } from "../media/audio.js";
import { listen } from "./live/listen.js";
import type { LiveEvent, LiveResult } from "./live/live-event.js";
import { transcribe } from "./transcribe.js";
import type { Transcript, TranscriptSegment } from "./transcript.js";
import { explainWhisper } from "./whisper-explain.js";
import { loadWhisper } from "./whisper-load.js";
import type { LoadedWhisper } from "./whisper-model.js";
import {
  parseLiveOptions,
  parseWhisperLoadOptions,
  parseWhisperOptions,
  type LiveOptions,
  type WhisperLoadOptions,
  type WhisperOptions,
} from "./whisper-options.js";
import { planCall } from "./whisper-settings.js";

/** What a loaded model is. */
export interface WhisperInfo extends Readonly<NativeTranscriberInfo> {
  /** Codes of the languages it knows, in alphabetical order; `["en"]` for an English-only model. */
  languages: readonly string[];
  multilingual: boolean;
  /** Bands of its spectrogram: 80 or 128. */
  melBins: number;
  /** Whether `timestamps: "word"` is possible. */
  wordTimestamps: boolean;
  /** What the model's folder holds. */
  format: "openvino" | "ctranslate2" | "safetensors";
  /** Time that `load()` took. */
  loadMs: number;
}

/**
 * Speech recognition with Whisper: recordings of any length, and live audio.
 *
 * Any number of calls may run at once; the engine serves them in turn. `dispose()` gives the memory back.
 *
 * @example
 * ```ts
 * const whisper = await WhisperPipeline.load("models/whisper-tiny.en");
 * const transcript = await whisper.transcribe("talk.wav");
 * console.log(transcript.text);
 * await whisper.dispose();
 * ```
 */
export class WhisperPipeline extends Pipeline {
  readonly #model: LoadedWhisper;

  private constructor(key: typeof INTERNAL, model: LoadedWhisper) {
    super(key, model);
    this.#model = model;
  }

  /**
   * Loads a model.
   *
   * @param model - a folder with a Whisper model: OpenVINO IR (as optimum-intel writes it), CTranslate2 (what faster-whisper uses) or
   * a Hugging Face checkpoint; the last two are converted the first time. A path or a `file:` URL
   * @throws OptionError, DeviceError, ModelError, UnsupportedError, NativeError; or the signal's reason
   */
  static async load(model: string | URL, options?: WhisperLoadOptions): Promise<WhisperPipeline> {
    return blaming(
      captureCallSite(),
      async () => new WhisperPipeline(INTERNAL, await loadWhisper(model, parseWhisperLoadOptions(options))),
    );
  }

  /** Facts about the loaded model. */
  get info(): WhisperInfo {
    const { facts, transcriber, source, loadMs } = this.#model;
    const multilingual = facts.languages.size > 0;
    return {
      ...transcriber.info,
      languages: multilingual ? [...facts.languages.keys()].toSorted() : ["en"],
      multilingual,
      melBins: facts.melBins,
      wordTimestamps: facts.alignmentHeads.length > 0,
      format: source.format,
      loadMs,
    };
  }

  /**
   * Writes down what is said in a recording.
   *
   * @param audio - a path, URL, encoded bytes, a stream of them, or samples together with `sampleRate`
   * @throws OptionError, MediaError, UnsupportedError, DisposedError, NativeError; or the signal's reason
   */
  async transcribe(audio: AudioInput | NodeJS.ReadableStream, options?: WhisperOptions): Promise<Transcript> {
    const callSite = captureCallSite();
    this.lifecycle.assertUsable("transcribe");
    return this.#start(audio, options, callSite).result;
  }

  /**
   * Does the same and gives segments as soon as their window is done. The work starts at once; wrong options throw here. The audio is read
   * to its end first: audio without an end is for {@link live}.
   *
   * @throws OptionError, UnsupportedError, DisposedError; everything else comes through the stream
   */
  stream(
    audio: AudioInput | NodeJS.ReadableStream,
    options?: WhisperOptions,
  ): PipelineStream<TranscriptSegment, Transcript> {
    const callSite = captureCallSite();
    this.lifecycle.assertUsable("stream");
    return this.#start(audio, options, callSite);
  }

  /**
   * Writes down what is being said, while it is said: an utterance is told several times while it grows (`partial`) and once when it
   * has ended (`final`), after a pause or 30 s. Works on audio of any length in bounded memory: where decoding is slower than speech,
   * partials are left out and chunks are taken more slowly. Ends when the audio does; then, and after `stop()` or `break`, what is being said
   * still gets its final, and so it does before an error of the source is told.
   *
   * @param chunks - samples (`Float32Array`, with `sampleRate`) or the bytes of an audio file as they come: an async iterable or a stream
   * @throws OptionError, UnsupportedError, DisposedError; everything else comes through the stream
   */
  live(chunks: AudioInput | NodeJS.ReadableStream, options?: LiveOptions): PipelineStream<LiveEvent, LiveResult> {
    const callSite = captureCallSite();
    this.lifecycle.assertUsable("listen");
    const model = this.#model;
    const parsed = parseLiveOptions(options);
    const call = planCall(model, parsed);
    const { sampleRate, signal } = parsed;
    return this.lifecycle.start<LiveEvent, LiveResult>(
      (control) => listen(model, { chunks, sampleRate, call }, control),
      callSite,
      { signal },
    );
  }

  /**
   * Tells every option in force for a call with these options, where each comes from, and what has no effect.
   *
   * @throws OptionError, UnsupportedError, DisposedError
   */
  explain(options?: WhisperOptions): Explanation {
    this.lifecycle.assertUsable("explain");
    const model = this.#model;
    return explainWhisper(model, planCall(model, parseWhisperOptions(options)));
  }

  #start(
    audio: unknown,
    options: WhisperOptions | undefined,
    callSite: CallSite,
  ): PipelineStream<TranscriptSegment, Transcript> {
    const model = this.#model;
    const parsed = parseWhisperOptions(options);
    const call = planCall(model, parsed);
    return this.lifecycle.start<TranscriptSegment, Transcript>(
      (control) => transcribe(model, { audio, call, options: parsed }, control),
      callSite,
      { signal: parsed.signal },
    );
  }
}
