import { MetricsClock } from "../core/metrics.js";
import type { StreamControl } from "../core/stream.js";
import { transcribeBatched } from "./batched.js";
import { batchSizeFor } from "./batch-size.js";
import { LanguageFinder } from "./language-finder.js";
import { readAudio } from "./read-audio.js";
import type { RunContext } from "./run-context.js";
import { SequentialRun } from "./sequential.js";
import { TranscriptBuilder } from "./transcript-builder.js";
import type { Transcript, TranscriptSegment } from "./transcript.js";
import { ProgressTeller } from "./transcription-progress.js";
import { WhisperEngine } from "./whisper-engine.js";
import type { LoadedWhisper } from "./whisper-model.js";
import type { WhisperOptions } from "./whisper-options.js";
import type { WhisperCall } from "./whisper-settings.js";

/** What is to be transcribed, and how. */
export interface TranscriptionRequest {
  audio: unknown;
  call: WhisperCall;
  options: Pick<WhisperOptions, "sampleRate" | "onProgress">;
}

/**
 * Transcribes a recording: reads it, computes its spectrogram, then decodes window after window or several together. Settles only when
 * native work has ended, and holds no native memory afterwards.
 */
export async function transcribe(
  model: LoadedWhisper,
  { audio: input, call, options }: TranscriptionRequest,
  control: StreamControl<TranscriptSegment>,
): Promise<Transcript> {
  const clock = new MetricsClock(model.loadMs);
  const progress = new ProgressTeller(options.onProgress);
  const { settings } = call;
  const isBatched = settings.mode === "batched";
  const reading = new AbortController();
  control.onEnding(() => reading.abort());
  const audio = await readAudio(model, input, {
    sampleRate: options.sampleRate,
    range: settings.range,
    signal: reading.signal,
    clock,
    onRead: (seconds, of) => progress.audio(seconds, of),
    isEnded: () => control.ending !== undefined,
  });
  const engine = new WhisperEngine(model.transcriber, control, clock);
  const builder = new TranscriptBuilder(audio.offset, audio.seconds, clock, (segment) => control.push(segment));
  const languages = new LanguageFinder(model.facts, call, engine);
  let fallbacks = 0;
  const context: RunContext = {
    ...{ model, call, engine, clock, audio, builder, languages },
    onFallback: (windows) => {
      fallbacks += windows;
    },
    onSeconds: (seconds) => progress.speech(seconds, audio.seconds),
  };
  try {
    progress.speech(0, audio.seconds);
    if (isBatched) await transcribeBatched(context, batchSizeFor(model, call));
    else await new SequentialRun(context).run(0, audio.frames);
    if (!engine.ending) progress.speech(audio.seconds, audio.seconds);
  } finally {
    engine.close();
  }
  const { language, probability } = languages.result;
  const metrics = clock.finishJobs(engine.tokens);
  return {
    text: builder.text,
    language,
    languageProbability: probability,
    duration: audio.offset + audio.seconds,
    segments: builder.segments,
    finishReason: control.ending === "cancel" ? "cancelled" : "stop",
    metrics: {
      ...metrics,
      realTimeFactor: audio.seconds > 0 ? metrics.durationMs / 1000 / audio.seconds : 0,
      windows: engine.windows,
      fallbacks,
    },
  };
}
