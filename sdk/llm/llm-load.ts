import { throwIfAborted } from "../core/abort.js";
import { UnsupportedError } from "../core/errors.js";
import { layerOfGenerationConfig } from "../core/generation-options.js";
import {
  attentionNote,
  engineOptions,
  namesGiven,
  resolveLoadOptions,
  type ResolvedLoadOptions,
} from "../core/load-options.js";
import { eventsOf } from "../core/native-events.js";
import { loadSideBySide, nativeForDevice, openNative } from "../core/native-load.js";
import type { NativeGeneratorOptions } from "../core/native-types.js";
import { LoadProgressReporter } from "../core/progress.js";
import type { TextModel } from "../generation/text-model.js";
import { resolveCache } from "../models/cache.js";
import { planInWords } from "../models/convert/check-plan.js";
import { readModelFacts, type ModelFacts } from "../models/model-folder.js";
import { modelPath } from "../models/model-path.js";
import { resolveModel, type ModelSource } from "../models/resolve.js";
import { Tokenizer } from "../text/tokenizer.js";
import { languageModel } from "./llm-model.js";
import type { LLMLoadOptions } from "./llm-options.js";
import { loadTemplate } from "./llm-template.js";

/**
 * Loads a language model: device check, files, tokenizer and template, then the native generator. What was opened is given
 * back if a later step fails or the signal aborts.
 */
export async function loadModel(model: unknown, options: LLMLoadOptions): Promise<TextModel> {
  const started = performance.now();
  const { signal, weights, groupSize, ...common } = options;
  throwIfAborted(signal);
  modelPath(model);
  const resolved = resolveLoadOptions({ ...common, ...(weights === "int8" && { weights }) });
  const progress = new LoadProgressReporter(options.onProgress);
  const native = await nativeForDevice(resolved, signal);

  progress.report("files", 0);
  const cache = await resolveCache(resolved.cache);
  const source = await resolveModel(model, {
    ...(weights !== undefined && weights !== "file" && { weights }),
    ...{ groupSize, cacheFolder: cache.folder, signal },
    onProgress: progress.reportConversion,
  });
  const facts = await readModelFacts(source);
  const given = (source.kind === "ir" ? source.checkpoint : undefined) ?? source.path;
  progress.report("files", 1, given);
  throwIfAborted(signal);

  // The tokenizer is read here while the native side, in threads of its own, reads and compiles the model.
  const nativeOptions = generatorOptions(source, facts, resolved, cache.folder);
  const parts = await loadSideBySide(
    signal,
    {
      start: (ends) => openNative(native, () => native.openGenerator(nativeOptions), progress, ends),
      undo: (generator) => generator.close(),
    },
    {
      start: () => readTextParts(source, options.chatTemplate, progress),
      undo: ({ tokenizer }) => tokenizer.dispose(),
    },
  );
  const { opened: generator, read } = parts;
  try {
    progress.report("ready", 1);
    progress.assertListenerSound();
    const config = layerOfGenerationConfig(facts.generationConfig);
    return languageModel(given, {
      facts,
      ...read,
      generator,
      events: eventsOf(native),
      loadOptions: { ...resolved, weights: storedWeights(source, options) },
      givenLoadOptions: namesGiven(options),
      cacheFolder: cache.folder,
      stopTokenIds: [...new Set([...facts.eosTokenIds, ...read.tokenizer.stopIds])],
      configLayer: config.layer,
      notes: [
        ...facts.notes,
        ...config.notes,
        ...(cache.warning === undefined ? [] : [cache.warning]),
        ...attentionNote(generator.info.fallbackReason || facts.statefulReason),
      ],
      loadMs: performance.now() - started,
    });
  } catch (error) {
    await parts.undo(error);
    throw error;
  }
}

/** For `explain()`: a checkpoint has no form of its own to keep. */
function storedWeights({ kind, ...source }: ModelSource, { weights = "file", groupSize }: LLMLoadOptions): string {
  if (kind === "gguf" || !("checkpoint" in source)) return weights;
  return planInWords({ format: weights === "file" ? undefined : weights, groupSize });
}

async function readTextParts(
  source: ModelSource,
  chatTemplate: string | undefined,
  progress: LoadProgressReporter,
): Promise<Pick<TextModel, "tokenizer" | "template">> {
  const tokenizer =
    source.kind === "gguf" ? await Tokenizer.fromGguf(source.gguf) : await Tokenizer.fromFolder(source.path);
  const template = await loadTemplate(source, tokenizer, chatTemplate);
  progress.report("tokenizer", 1);
  return { tokenizer, template };
}

/** The way of attention to ask the engine for: some models have only one that computes what they are. */
function attentionFor(
  { statefulReason }: ModelFacts,
  { attention }: ResolvedLoadOptions,
): NativeGeneratorOptions["attention"] {
  if (statefulReason === "") return attention;
  if (attention !== "paged") return "stateful";
  throw new UnsupportedError(`attention must be "stateful" or "auto" for this model: ${statefulReason}.`, {
    subject: "paged attention",
  });
}

function generatorOptions(
  source: ModelSource,
  facts: ModelFacts,
  options: ResolvedLoadOptions,
  cacheDir: string,
): NativeGeneratorOptions {
  return {
    source:
      source.kind === "ir"
        ? { kind: "ir", xml: source.xml, bin: source.bin }
        : { kind: "gguf", files: source.gguf.files },
    ...engineOptions(options),
    attention: attentionFor(facts, options),
    // A conversion has them as asked for.
    weights: source.kind === "ir" && source.checkpoint !== undefined ? "file" : options.weights,
    contextLength: facts.contextLength,
    cacheDir,
    modelKey: facts.modelKey,
  };
}
