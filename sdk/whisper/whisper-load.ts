import { throwIfAborted } from "../core/abort.js";
import { COMMON_LOAD_DEFAULTS, namesGiven, withDefaults } from "../core/load-options.js";
import { nativeForDevice, openNative } from "../core/native-load.js";
import type { NativeTranscriber, NativeTranscriberOptions } from "../core/native-types.js";
import { LoadProgressReporter } from "../core/progress.js";
import { resolveCache } from "../models/cache.js";
import { modelPath } from "../models/model-path.js";
import { resolveWhisperModel } from "../models/whisper-model.js";
import { Tokenizer } from "../text/tokenizer.js";
import { readWhisperFacts } from "./whisper-facts.js";
import type { LoadedWhisper } from "./whisper-model.js";
import type { WhisperLoadOptions } from "./whisper-options.js";

/**
 * Loads a Whisper model: device check, files (converted if need be), tokenizer and facts, then the native transcriber, which needs the
 * facts. What was opened is given back if a later step fails or the signal aborts.
 */
export async function loadWhisper(model: unknown, options: WhisperLoadOptions): Promise<LoadedWhisper> {
  const started = performance.now();
  const { signal, weights } = options;
  throwIfAborted(signal);
  modelPath(model);
  const resolved = withDefaults(options, COMMON_LOAD_DEFAULTS);
  const progress = new LoadProgressReporter(options.onProgress);
  const native = await nativeForDevice(resolved, signal);

  progress.report("files", 0);
  const cache = await resolveCache(resolved.cache);
  const source = await resolveWhisperModel(model, {
    weights,
    cacheFolder: cache.folder,
    signal,
    onProgress: progress.reportConversion,
  });
  progress.report("files", 1, source.path);
  throwIfAborted(signal);

  const tokenizer = await Tokenizer.fromFolder(source.folder);
  let transcriber: NativeTranscriber | undefined;
  try {
    const facts = readWhisperFacts(source, tokenizer);
    progress.report("tokenizer", 1);
    const nativeOptions: NativeTranscriberOptions = {
      encoder: source.encoder,
      decoder: source.decoder,
      device: resolved.device,
      properties: resolved.properties,
      cacheDir: cache.folder,
      modelKey: source.modelKey,
      melBins: facts.melBins,
      maxPositions: facts.maxPositions,
      tokens: facts.tokens,
      alignmentHeads: facts.alignmentHeads,
      warmUp: resolved.warmUp,
    };
    const ends = signal ?? new AbortController().signal;
    transcriber = await openNative(native, () => native.openTranscriber(nativeOptions), progress, ends);
    progress.report("ready", 1);
    progress.assertListenerSound();
    return {
      source,
      facts,
      tokenizer,
      transcriber,
      native,
      loadOptions: { ...resolved, weights },
      givenLoadOptions: namesGiven(options),
      cacheFolder: cache.folder,
      notes: cache.warning === undefined ? [] : [cache.warning],
      loadMs: performance.now() - started,
    };
  } catch (error) {
    await Promise.allSettled([transcriber?.close(), tokenizer.dispose()]);
    throw error;
  }
}
