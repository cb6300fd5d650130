import { setImmediate as nextTurn } from "node:timers/promises";
import type { MetricsClock } from "../core/metrics.js";
import type { NativeLogMel } from "../core/native-types.js";
import { openAudio, type AudioSource } from "../media/audio.js";
import { OptionError } from "../core/errors.js";
import { SpeechActivity } from "./speech/activity.js";
import { VoiceGate } from "./speech/voice-gate.js";
import type { LoadedWhisper } from "./whisper-model.js";
import { SAMPLE_RATE, SAMPLES_PER_FRAME, WINDOW_FRAMES } from "./whisper-facts.js";

/** A recording as the decoder needs it; of its samples only loudness is kept. */
export interface HeardAudio {
  mel: NativeLogMel;
  /** Mel frames of audio; short audio is padded to 30 s beyond them. */
  frames: number;
  /** Length in seconds. */
  seconds: number;
  /** Seconds at which it begins in the whole audio (`range`). */
  offset: number;
  /** Speech, pauses and levels. */
  activity: SpeechActivity;
}

/** How to read audio. */
export interface ReadAudioOptions {
  sampleRate: number | undefined;
  range: readonly [start: number, end?: number | undefined] | undefined;
  /** Ends reading. */
  signal: AbortSignal;
  clock: MetricsClock;
  /** Told after every piece. */
  onRead: (seconds: number, of: number | undefined) => void;
  /** True once the call is ended: what was read counts. */
  isEnded: () => boolean;
}

const WINDOW_SAMPLES = WINDOW_FRAMES * SAMPLES_PER_FRAME;

/**
 * Reads audio to its end and computes its spectrogram on the way. Audio of up to 30 s is filled up with zeros to a window before its
 * spectrogram is computed, as transformers and openvino_genai do; longer audio is taken as it is.
 *
 * @throws what `openAudio` throws; OptionError for a range that begins after the end
 */
export async function readAudio(model: LoadedWhisper, input: unknown, options: ReadAudioOptions): Promise<HeardAudio> {
  const { sampleRate, range, signal, clock } = options;
  const [start = 0, end] = range ?? [];
  const mel = model.native.createLogMel(model.facts.melBins);
  const activity = new SpeechActivity();
  const samples = await clock.measureAsync("preprocess", async () => {
    const source = await openUnlessEnded(
      () => openAudio(input, { sampleRate, signal, ...(range && { range: { start, end } }) }),
      options,
    );
    const read = source ? await readPieces(source, mel, activity, options) : 0;
    if (source && read === 0 && start > 0 && !options.isEnded()) throw emptyRange(source, start);
    return read;
  });
  return {
    mel,
    frames: Math.floor(samples / SAMPLES_PER_FRAME),
    seconds: samples / SAMPLE_RATE,
    offset: start,
    activity,
  };
}

/** An end that is asked for while the audio is opened leaves nothing to read. */
async function openUnlessEnded(
  open: () => Promise<AudioSource>,
  { isEnded }: Pick<ReadAudioOptions, "isEnded">,
): Promise<AudioSource | undefined> {
  try {
    return await open();
  } catch (error) {
    if (isEnded()) return undefined;
    throw error;
  }
}

async function readPieces(
  source: AudioSource,
  mel: NativeLogMel,
  activity: SpeechActivity,
  { onRead, isEnded }: ReadAudioOptions,
): Promise<number> {
  const gate = new VoiceGate();
  let samples = 0;
  // The spectrogram of one piece is computed while the next one is read.
  let computing: Promise<void> = Promise.resolve();
  try {
    for await (const piece of source) {
      samples += piece.length;
      activity.add(gate.push(piece));
      await computing;
      computing = mel.append(piece);
      // Reading may throw before this is awaited.
      computing.catch(() => undefined);
      onRead(samples / SAMPLE_RATE, source.duration);
      if (isEnded()) break;
      await nextTurn();
    }
  } catch (error) {
    // An end that was asked for interrupts reading; what was read counts.
    if (!isEnded()) throw error;
  }
  await computing;
  if (samples > 0 && samples < WINDOW_SAMPLES) await mel.append(new Float32Array(WINDOW_SAMPLES - samples));
  await mel.finish();
  return samples;
}

function emptyRange({ name }: AudioSource, start: number): OptionError {
  const expected = "a time within the audio";
  return new OptionError(`range[0] must be ${expected}: ${name} ends before ${start} s.`, {
    path: "range[0]",
    expected,
    received: start,
  });
}
