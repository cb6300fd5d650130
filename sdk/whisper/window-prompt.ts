import type { WhisperFacts } from "./whisper-facts.js";
import type { WhisperCall } from "./whisper-settings.js";

/** What stands before a window's text. */
export interface PromptParts {
  language: string;
  /** Whether the decoder writes timestamps. */
  timestamps: boolean;
  /** The caller's prompt, hotwords apart. */
  prompt: readonly number[];
  /** Text before the window; its end counts. */
  previous: readonly number[];
  /** Tokens that the text begins with. */
  prefix?: readonly number[];
}

/** `<|startoftranscript|>`, and for multilingual models language and task. */
export function startSequence(facts: WhisperFacts, call: WhisperCall, language: string): number[] {
  const { startOfTranscript } = facts.tokens;
  const languageId = facts.languages.get(language);
  const task = facts.tasks[call.settings.task];
  return [startOfTranscript, ...(languageId === undefined ? [] : [languageId]), ...(task === undefined ? [] : [task])];
}

/** The decoder's prompt: previous text, start sequence, `<|notimestamps|>` where no times are wanted. */
export function windowPrompt(
  facts: WhisperFacts,
  call: WhisperCall,
  { language, timestamps, prompt, previous, prefix = [] }: PromptParts,
): { ids: number[]; sotIndex: number } {
  const fixed = [...call.hotwordIds, ...prompt];
  const room = call.previousRoom - fixed.length;
  const before = [...fixed, ...(room > 0 ? previous.slice(-room) : [])];
  const past = before.length > 0 && facts.startOfPrevious !== undefined ? [facts.startOfPrevious, ...before] : [];
  const ids = [
    ...past,
    ...startSequence(facts, call, language),
    ...(timestamps ? [] : [facts.tokens.noTimestamps]),
    ...prefix,
  ];
  return { ids, sotIndex: past.length };
}
