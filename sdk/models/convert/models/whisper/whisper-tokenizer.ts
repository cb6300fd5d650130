import { ModelError } from "../../../../core/errors.js";

/** `<|0.00|>` to `<|30.00|>` in steps of 0.02 s. */
const TIMESTAMPS = 1501;

type Json = Record<string, unknown>;

/** The tokens that control what Whisper writes. */
export interface WhisperTokens {
  endOfText: number;
  startOfTranscript: number;
  translate: number;
  transcribe: number;
  startOfPrevious: number;
  noTimestamps: number;
  /** All tokens from `<|endoftext|>` to `<|notimestamps|>` in the order of their ids. */
  control: string[];
  /** Languages, for example `<|en|>` → 50259. */
  languages: Record<string, number>;
}

/**
 * Reads the control tokens of a Whisper tokenizer.
 *
 * @param file - its path, for messages
 * @throws ModelError if it is not Whisper's
 */
export function readWhisperTokens(tokenizer: Json, file: string): WhisperTokens {
  const ids = addedTokens(tokenizer);
  const require = (token: string): number => {
    const id = ids.get(token);
    if (id !== undefined) return id;
    throw new ModelError(
      `${file} has no token ${token}: it is not the tokenizer of a Whisper model. Fetch the one of the same model.`,
      {
        file,
      },
    );
  };
  const endOfText = require("<|endoftext|>");
  const startOfTranscript = require("<|startoftranscript|>");
  const translate = require("<|translate|>");
  const noTimestamps = require("<|notimestamps|>");
  const inOrder = [...ids].sort(([, one], [, other]) => one - other);
  return {
    ...{ endOfText, startOfTranscript, translate, noTimestamps },
    transcribe: require("<|transcribe|>"),
    startOfPrevious: require("<|startofprev|>"),
    control: inOrder.filter(([, id]) => id >= endOfText && id <= noTimestamps).map(([token]) => token),
    // The codes lie between these two; sorted by name, as Hugging Face writes them.
    languages: Object.fromEntries(
      inOrder
        .filter(([, id]) => id > startOfTranscript && id < Math.min(translate, require("<|transcribe|>")))
        .sort(([one], [other]) => (one < other ? -1 : 1)),
    ),
  };
}

/**
 * Makes a tokenizer fit the embedding: older files end with `<|notimestamps|>`, and the 1501 timestamps are added then.
 *
 * @param strict - the last token must be the embedding's last row; otherwise rows may be left unused
 * @returns the number of tokens that were added to `tokenizer`
 * @throws ModelError if it belongs to another model
 */
export function completeTokenizer(tokenizer: Json, vocabularySize: number, strict: boolean, file: string): number {
  const ids = addedTokens(tokenizer);
  const last = lastToken(tokenizer, ids);
  const { noTimestamps } = readWhisperTokens(tokenizer, file);
  const missing = last === noTimestamps;
  const total = missing ? last + 1 + TIMESTAMPS : last + 1;
  const wrongStart = ids.get("<|0.00|>") !== undefined && ids.get("<|0.00|>") !== noTimestamps + 1;
  if (wrongStart || total > vocabularySize || (strict && total !== vocabularySize)) {
    throw new ModelError(
      `${file} is not this model's tokenizer: it has ${total} tokens${missing ? " with the timestamps" : ""}, ` +
        `the model's embedding ${vocabularySize}. Fetch tokenizer.json of the same model ` +
        "(English-only and multilingual ones differ).",
      { file },
    );
  }
  if (!missing) return 0;
  const added = tokenizer["added_tokens"] as Json[];
  for (let index = 0; index < TIMESTAMPS; index++) {
    added.push({
      id: last + 1 + index,
      content: `<|${(index * 0.02).toFixed(2)}|>`,
      ...{ single_word: false, lstrip: false, rstrip: false, normalized: false, special: false },
    });
  }
  return TIMESTAMPS;
}

/** The added tokens of a `tokenizer.json`, which all control tokens are. */
function addedTokens(tokenizer: Json): Map<string, number> {
  const ids = new Map<string, number>();
  const added = tokenizer["added_tokens"];
  for (const entry of Array.isArray(added) ? (added as (Json | null)[]) : []) {
    const { content, id } = entry ?? {};
    if (typeof content === "string" && typeof id === "number") ids.set(content, id);
  }
  return ids;
}

/** The highest id of all tokens. */
function lastToken(tokenizer: Json, added: Map<string, number>): number {
  let last = -1;
  for (const id of added.values()) last = Math.max(last, id);
  const { vocab } = (tokenizer["model"] ?? {}) as Json;
  if (typeof vocab !== "object" || vocab === null) return last;
  for (const id of Object.values(vocab)) if (typeof id === "number" && id > last) last = id;
  return last;
}
