import type { DecodeContext, WindowText } from "./decode-windows.js";
import { cutWindow, type WindowCut } from "./cut-window.js";
import type { LanguageFinder } from "./language-finder.js";
import type { HeardAudio } from "./read-audio.js";
import type { TranscriptBuilder } from "./transcript-builder.js";
import { FRAMES_PER_SECOND } from "./whisper-facts.js";
import type { DraftSegment } from "./words/segment-words.js";

/** What both ways through a recording need. */
export interface RunContext extends DecodeContext {
  audio: HeardAudio;
  builder: TranscriptBuilder;
  languages: LanguageFinder;
  /** Told how many seconds are done. */
  onSeconds: (seconds: number) => void;
}

/** A window of a recording: `size` mel frames of audio from `seek`. */
export interface AudioWindow {
  seek: number;
  size: number;
}

/** Whether the sound of a window is as steady as no speech is. */
export function isSteady({ audio }: RunContext, { seek, size }: AudioWindow): boolean {
  return audio.activity.isSteady(seek / FRAMES_PER_SECOND, (seek + size) / FRAMES_PER_SECOND);
}

/** Seconds of speech in a window; none where its sound is as steady as no speech is. */
export function speechIn(context: RunContext, window: AudioWindow): number {
  if (isSteady(context, window)) return 0;
  const { seek, size } = window;
  return context.audio.activity.speechBetween(seek / FRAMES_PER_SECOND, (seek + size) / FRAMES_PER_SECOND);
}

/** Whether there is no sound at all in a window. */
export function isInaudible({ audio }: RunContext, { seek, size }: AudioWindow): boolean {
  return audio.activity.isInaudible(seek / FRAMES_PER_SECOND, (seek + size) / FRAMES_PER_SECOND);
}

/** Cuts a window's text into segments with times of the audio. */
export function draftSegments(
  { model, clock }: DecodeContext,
  text: WindowText,
  { seek, size }: AudioWindow,
  timestamps: boolean,
): { drafts: DraftSegment[]; cut: WindowCut } {
  const { tokens } = model.facts;
  const whole: WindowCut = {
    slices: [{ start: 0, end: size / FRAMES_PER_SECOND, ids: text.ids }],
    ...{ advance: size, complete: true, closed: 0, rest: [] },
  };
  const cut = timestamps ? cutWindow(text.ids, size, tokens) : whole;
  // Of a text that was stopped only what has its end is certain.
  const slices = text.stopped && timestamps && cut.closed === 0 ? [] : cut.slices;
  const offset = seek / FRAMES_PER_SECOND;
  const drafts = clock.measure("detokenize", () =>
    slices.map(({ start, end, ids }): DraftSegment => ({
      start: offset + start,
      end: offset + end,
      ids,
      text: textOf(model, ids),
    })),
  );
  return { drafts, cut };
}

/** Text of tokens, without timestamps and control tokens. */
export function textOf({ tokenizer, facts }: DecodeContext["model"], ids: readonly number[]): string {
  return tokenizer.decode(
    ids.filter((id) => id < facts.tokens.endOfText),
    { continuation: true },
  );
}

/** Words that times were found for belong to the audio; a segment's language is told where each window has its own. */
export function addSegments(
  { builder, languages }: RunContext,
  drafts: readonly DraftSegment[],
  text: WindowText,
  language: string,
): void {
  for (const draft of drafts) builder.add(draft, text, languages.eachWindow ? language : undefined);
}
