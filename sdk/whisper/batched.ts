import { continueTexts } from "./continue-windows.js";
import { decodeWindows, type WindowText } from "./decode-windows.js";
import type { FoundLanguage } from "./language-finder.js";
import { listenElsewhere } from "./listen-elsewhere.js";
import {
  addSegments,
  draftSegments,
  isSteady,
  speechIn,
  textOf,
  type AudioWindow,
  type RunContext,
} from "./run-context.js";
import { SequentialRun } from "./sequential.js";
import { planWindows } from "./speech/plan-windows.js";
import { FRAMES_PER_SECOND, TIMESTAMP_STEP, WINDOW_FRAMES } from "./whisper-facts.js";
import { tellOnTheWay } from "./window-progress.js";
import { windowPrompt } from "./window-prompt.js";
import { alignWindows, speechEnd, type WindowToAlign } from "./words/align-windows.js";
import type { DraftSegment } from "./words/segment-words.js";

/** A window, and how many mel frames of it the encoder is given: the pause behind it too. */
interface PlannedWindow extends AudioWindow {
  reach: number;
}

/** A window whose text is known. */
interface HeardWindow extends AudioWindow {
  handle: number;
  text: WindowText;
  language: FoundLanguage;
  drafts: DraftSegment[];
  /** Mel frame from which on it is heard once more, one window after the other; its end if there is no need. */
  resume: number;
}

/** Speech after a text's end, in seconds, from which on the rest of a window is heard once more. */
const MISSED_SPEECH = { afterPair: 0.5, afterEnd: 1.5 };

/** How far before a text's end the pause may lie from which on the rest is heard, in seconds. */
const RESUME_RANGE = 1;

/**
 * Transcribes audio in windows cut at pauses, several of them decoded together. What a window's text does not cover although
 * somebody speaks there, or what it had no room for, is heard again in sequence.
 *
 * @param batchSize - windows encoded and decoded together
 */
export async function transcribeBatched(context: RunContext, batchSize: number): Promise<void> {
  const { engine, onSeconds, audio } = context;
  const windows = planned(audio);
  const sequential = new SequentialRun(context);
  for (let at = 0; at < windows.length && !engine.ending; at += batchSize) {
    await batch(
      context,
      windows.slice(at, at + batchSize).filter(({ size }) => size > 0),
      sequential,
    );
  }
  if (!engine.ending) onSeconds(audio.seconds);
}

function planned({ activity, frames, mel }: RunContext["audio"]): PlannedWindow[] {
  const frameOf = (seconds: number): number => Math.min(frames, Math.round(seconds * FRAMES_PER_SECOND));
  return planWindows(activity)
    .map(({ start, end }) => ({ seek: frameOf(start), end: frameOf(end) }))
    .filter(({ seek, end }) => end > seek)
    .map(({ seek, end }, index, all) => {
      // The pause behind it, and the silence that short audio is filled up with, are more natural than padding.
      const next = all[index + 1]?.seek ?? mel.frames;
      return { seek, size: Math.min(WINDOW_FRAMES, end - seek), reach: Math.min(WINDOW_FRAMES, next - seek) };
    });
}

async function batch(context: RunContext, windows: readonly PlannedWindow[], sequential: SequentialRun): Promise<void> {
  const { engine, audio, languages, onSeconds, call } = context;
  const handles = await engine.encode(
    windows.map(({ seek, reach }) => ({ mel: audio.mel, start: seek, count: reach })),
  );
  try {
    if (handles.length < windows.length || engine.ending) return;
    const last = windows.at(-1)!;
    const heard = await tellOnTheWay(context, [windows[0]!.seek, last.seek + last.size], () =>
      decodeBatch(context, windows, handles),
    );
    if (engine.ending && engine.ending !== "stop") return;
    // What follows a text that was stopped on the way would leave a gap.
    const stopped = heard.findIndex(({ text }) => text.stopped);
    const whole = stopped < 0 ? heard : heard.slice(0, stopped + 1);
    const spoken = whole.filter(({ text }) => !text.silent);
    for (const { language, size } of spoken) languages.note(language, size / FRAMES_PER_SECOND);
    // Word times are found for all windows at once, unless something in between is still to be heard.
    const groups = call.settings.timestamps === "word" ? groupForWords(spoken) : [spoken];
    for (const group of groups) {
      if (call.settings.timestamps === "word")
        sequential.lastSpeech = await align(context, group, sequential.lastSpeech);
      for (const window of group) {
        addSegments(context, window.drafts, window.text, window.language.language);
        sequential.lastSpeech = speechEnd(window.drafts) ?? sequential.lastSpeech;
        const end = window.seek + window.size;
        if (window.resume < end && !engine.ending) await sequential.run(window.resume, end);
        onSeconds(end / FRAMES_PER_SECOND);
      }
    }
  } finally {
    engine.release(handles);
  }
}

async function decodeBatch(
  context: RunContext,
  windows: readonly AudioWindow[],
  handles: readonly number[],
): Promise<HeardWindow[]> {
  const { model, call, languages } = context;
  const timestamps = call.settings.timestamps !== false;
  const listened = windows.map((window, index) => ({ handle: handles[index]!, speech: speechIn(context, window) }));
  const last = windows.at(-1)!;
  const found = await languages.find(listened, listenElsewhere(context, last.seek + last.size));
  const prompts = windows.map((window, index) => {
    const { language } = found[index]!;
    const prompt = windowPrompt(model.facts, call, { language, timestamps, prompt: call.promptIds, previous: [] });
    const seed = (call.settings.seed + window.seek) % Number.MAX_SAFE_INTEGER;
    return { handle: handles[index]!, ...prompt, seed, steady: isSteady(context, window) };
  });
  const decoded = await decodeWindows(context, prompts, timestamps);
  // A text that ended early goes on, rather than its rest being heard again.
  const texts = await continueTexts(context, prompts, decoded, (index, text) => {
    const window = windows[index]!;
    const end = window.seek + window.size;
    if (text.silent || text.stopped || text.cut || text.triedTemperature > call.settings.temperature[0]!) return false;
    return timestamps && segmentsOf(context, window, text, timestamps).resume < end;
  });
  return windows.map((window, index) => {
    const text = texts[index]!;
    const heard = { ...window, handle: handles[index]!, text, language: found[index]! };
    return { ...heard, ...segmentsOf(context, window, text, timestamps) };
  });
}

/** Segments of a window, and where it has to be heard again. */
function segmentsOf(
  context: RunContext,
  window: AudioWindow,
  text: WindowText,
  timestamps: boolean,
): Pick<HeardWindow, "drafts" | "resume"> {
  const end = window.seek + window.size;
  const { drafts, cut } = draftSegments(context, text, window, timestamps);
  if (!timestamps || text.stopped) return { drafts, resume: end };
  const closed = window.seek + cut.closed;
  const missed = (from: number): number =>
    context.audio.activity.speechBetween(from / FRAMES_PER_SECOND, end / FRAMES_PER_SECOND);
  // Timestamps are inexact; the pause after the text is where it is safe to go on.
  const pause = context.audio.activity.pauseBefore(closed / FRAMES_PER_SECOND, RESUME_RANGE);
  const resume = Math.max(window.seek, Math.round(pause * FRAMES_PER_SECOND));
  if (cut.closed > 0 && text.cut) return { drafts, resume };
  if (cut.closed > 0 && cut.complete && missed(closed) >= MISSED_SPEECH.afterEnd) return { drafts, resume };
  if (cut.closed === 0 || cut.complete) return { drafts, resume: end };
  const rest = textOf(context.model, cut.rest);
  if (rest.trim() !== "") {
    // An end without a timestamp is the window's: it was cut in a pause.
    const step = Math.max(0, cut.rest[0]! - context.model.facts.tokens.timestampBegin);
    const start = Math.max(closed, window.seek + step * TIMESTAMP_STEP * FRAMES_PER_SECOND);
    drafts.push({ start: start / FRAMES_PER_SECOND, end: end / FRAMES_PER_SECOND, ids: cut.rest, text: rest });
    return { drafts, resume: end };
  }
  return { drafts, resume: missed(closed) >= MISSED_SPEECH.afterPair ? resume : end };
}

function groupForWords(windows: readonly HeardWindow[]): HeardWindow[][] {
  const groups: HeardWindow[][] = [[]];
  for (const window of windows) {
    groups.at(-1)!.push(window);
    if (window.resume < window.seek + window.size) groups.push([]);
  }
  return groups;
}

function align(context: RunContext, windows: readonly HeardWindow[], lastSpeech: number): Promise<number> {
  const toAlign = windows.map(({ handle, seek, size, language, drafts }): WindowToAlign => ({
    handle,
    frames: size,
    offset: seek / FRAMES_PER_SECOND,
    language: language.language,
    segments: drafts,
  }));
  return alignWindows(context, toAlign, lastSpeech);
}
