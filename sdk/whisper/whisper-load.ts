import { COMMON_LOAD_DEFAULTS, withDefaults } from "../core/load-options.js";
import { runLoad } from "../models/load-run.js";
import { resolveWhisperModel } from "../models/whisper-model.js";
import { Tokenizer } from "../text/tokenizer.js";
import { readWhisperFacts } from "./whisper-facts.js";
import type { LoadedWhisper } from "./whisper-model.js";
import type { WhisperLoadOptions } from "./whisper-options.js";

/** Loads a Whisper model: files, tokenizer and facts, then the native transcriber, which needs the facts. */
export function loadWhisper(model: unknown, options: WhisperLoadOptions): Promise<LoadedWhisper> {
  const { weights } = options;
  const resolved = withDefaults(options, COMMON_LOAD_DEFAULTS);
  return runLoad({ model, options, resolved }, async (run) => {
    const source = await run.find((finding) => resolveWhisperModel(model, { weights, ...finding }));
    run.found(source.path);
    const tokenizer = await Tokenizer.fromFolder(source.folder);
    run.own(tokenizer, () => tokenizer.dispose());
    const facts = readWhisperFacts(source, tokenizer);
    run.progress.report("tokenizer", 1);
    const transcriber = await run.open((native) =>
      native.openTranscriber({
        encoder: source.encoder,
        decoder: source.decoder,
        device: resolved.device,
        properties: resolved.properties,
        cacheDir: run.cacheFolder,
        modelKey: source.modelKey,
        melBins: facts.melBins,
        maxPositions: facts.maxPositions,
        tokens: facts.tokens,
        alignmentHeads: facts.alignmentHeads,
        warmUp: resolved.warmUp,
      }),
    );
    return {
      ...{ source, facts, tokenizer, transcriber, native: run.native },
      loadOptions: { ...resolved, weights },
      ...run.loaded(),
    };
  });
}
