import type { MetricsClock } from "../core/metrics.js";
import type { NativeDecodeOptions, NativeDecoding } from "../core/native-types.js";
import { compressionRatio } from "./compression.js";
import type { WhisperEngine } from "./whisper-engine.js";
import type { LoadedWhisper } from "./whisper-model.js";
import { TIMESTAMP_STEP } from "./whisper-facts.js";
import type { WhisperCall } from "./whisper-settings.js";

/** An encoded window, and what is said to the decoder before it. */
export interface WindowPrompt {
  handle: number;
  /** The whole decoder prompt. */
  ids: number[];
  /** Place of `<|startoftranscript|>` in it. */
  sotIndex: number;
  seed: number;
  /** Its sound is as steady as no speech is: a noise, a tone, silence. */
  steady?: boolean;
  /** Tokens at the prompt's end that belong to the text already (live audio). */
  prefix?: readonly number[];
  /** More must follow the prefix. */
  unfinished?: boolean;
}

/** What the decoder wrote for a window. */
export interface WindowText {
  /** Timestamps included. */
  ids: number[];
  /** Text of the window without white space at its ends. */
  text: string;
  temperature: number;
  /** Greatest temperature that was tried. */
  triedTemperature: number;
  avgLogprob: number;
  compressionRatio: number;
  noSpeechProb: number;
  /** Nothing is said in this window (no-speech rule). */
  silent: boolean;
  /** The text ran out of room: `maxNewTokens` or the decoder's positions. */
  cut: boolean;
  /** The call was ended while it was written. */
  stopped: boolean;
  /** The text passed the thresholds (a window without speech does). */
  passed: boolean;
}

/** What decoding needs of a call. */
export interface DecodeContext {
  model: LoadedWhisper;
  call: WhisperCall;
  engine: WhisperEngine;
  clock: MetricsClock;
  /** Counts windows that are decoded again. */
  onFallback: (windows: number) => void;
}

/**
 * Decodes windows together, each at the first temperature whose text passes the thresholds (openai/whisper's
 * `decode_with_fallback`); what was encoded is used again. Where none passes, the likeliest text that does not repeat itself is taken.
 *
 * @param timestamps - whether the decoder writes timestamps
 */
export async function decodeWindows(
  context: DecodeContext,
  prompts: readonly WindowPrompt[],
  timestamps: boolean,
): Promise<WindowText[]> {
  const { settings } = context.call;
  const tried: WindowText[][] = prompts.map(() => []);
  let open = prompts.map((_, index) => index);
  for (const [round, temperature] of settings.temperature.entries()) {
    if (open.length === 0 || (round > 0 && context.engine.ending)) break;
    if (round > 0) context.onFallback(open.length);
    const decoded = await decodeTogether(
      context,
      open.map((index) => prompts[index]!),
      decodeOptions(context, temperature, timestamps),
    );
    open = open.filter((index, at) => {
      const text = judge(context, decoded[at]!, temperature, prompts[index]!);
      tried[index]!.push(text);
      return !text.stopped && !text.passed;
    });
  }
  return tried.map((texts) => pick(texts, context));
}

const NOTHING = new Int32Array(0);

/** A text that has begun may end at once, unless it is known to be unfinished. */
function mayEndAtOnce({ prefix = [], unfinished = false }: WindowPrompt): boolean {
  return prefix.length > 0 && !unfinished;
}

/** Prompts of one length can be decoded in one batch. */
async function decodeTogether(
  { engine }: DecodeContext,
  prompts: readonly WindowPrompt[],
  options: NativeDecodeOptions,
): Promise<NativeDecoding[]> {
  const results: NativeDecoding[] = [];
  const places = new Map<string, number[]>();
  for (const [index, prompt] of prompts.entries()) {
    const key = `${prompt.ids.length}/${prompt.sotIndex}/${mayEndAtOnce(prompt)}`;
    places.set(key, [...(places.get(key) ?? []), index]);
  }
  for (const indexes of places.values()) {
    const inputs = indexes.map((index) => {
      const { handle, ids, sotIndex, seed, prefix = [] } = prompts[index]!;
      return { window: handle, prompt: Int32Array.from(ids), sotIndex, seed, prefixLength: prefix.length };
    });
    const free = mayEndAtOnce(prompts[indexes[0]!]!);
    const decoded = await engine.decode(inputs, free ? { ...options, beginSuppressTokens: NOTHING } : options);
    for (const [at, index] of indexes.entries()) results[index] = decoded[at]!;
  }
  return results;
}

function decodeOptions({ call }: DecodeContext, temperature: number, timestamps: boolean): NativeDecodeOptions {
  const { settings } = call;
  const { maxInitialTimestamp, maxNewTokens, lengthPenalty, patience } = settings;
  return {
    maxNewTokens,
    temperature,
    bestOf: temperature > 0 ? settings.bestOf : 1,
    beamSize: temperature > 0 ? 1 : settings.beamSize,
    patience,
    lengthPenalty,
    timestamps,
    maxInitialTimestamp: maxInitialTimestamp === null ? -1 : Math.round(maxInitialTimestamp / TIMESTAMP_STEP),
    suppressTokens: call.suppressTokens,
    beginSuppressTokens: call.beginSuppressTokens,
  };
}

function judge(
  { model, call, clock }: DecodeContext,
  { ids, reason, sumLogprob, noSpeechProb }: NativeDecoding,
  temperature: number,
  { prefix = [], steady = false }: WindowPrompt,
): WindowText {
  const { endOfText } = model.facts.tokens;
  const all = [...prefix, ...ids];
  const text = clock.measure("detokenize", () => model.tokenizer.decode(all.filter((id) => id < endOfText))).trim();
  const avgLogprob = sumLogprob / (ids.length + 1);
  const { noSpeechThreshold, logprobThreshold, compressionRatioThreshold } = call.settings;
  const doubtful = noSpeechThreshold !== null && noSpeechProb > noSpeechThreshold;
  const silent = doubtful && (steady || !(logprobThreshold !== null && avgLogprob > logprobThreshold));
  const ratio = compressionRatio(text);
  const varied = compressionRatioThreshold === null || ratio <= compressionRatioThreshold;
  const likely = logprobThreshold === null || avgLogprob >= logprobThreshold;
  return {
    ids: all,
    text,
    temperature,
    triedTemperature: temperature,
    avgLogprob,
    compressionRatio: ratio,
    noSpeechProb,
    silent,
    cut: reason === "length",
    stopped: reason === "stopped",
    passed: silent || (varied && likely),
  };
}

function pick(texts: readonly WindowText[], context: DecodeContext): WindowText {
  const last = texts.at(-1)!;
  const complete = texts.filter(({ stopped }) => !stopped);
  let chosen = last;
  if (last.stopped ? complete.length > 0 : !last.passed) {
    const limit = context.call.settings.compressionRatioThreshold ?? Infinity;
    const varied = complete.filter(({ compressionRatio: ratio }) => ratio <= limit);
    chosen = (varied.length > 0 ? varied : complete).reduce((best, text) =>
      text.avgLogprob > best.avgLogprob ? text : best,
    );
  }
  return { ...chosen, triedTemperature: last.temperature, stopped: last.stopped };
}
