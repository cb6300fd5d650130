import { abortReason, throwIfAborted } from "../core/abort.js";
import { checkDevice } from "../core/devices.js";
import { UnsupportedError } from "../core/errors.js";
import { layerOfGenerationConfig } from "../core/generation-options.js";
import { resolveLoadOptions, type ResolvedLoadOptions } from "../core/load-options.js";
import { getNative } from "../core/native.js";
import { eventsOf } from "../core/native-events.js";
import type { NativeAddon, NativeGenerator, NativeGeneratorOptions } from "../core/native-types.js";
import { LoadProgressReporter } from "../core/progress.js";
import { resolveCache } from "../models/cache.js";
import { readModelFacts, type ModelFacts } from "../models/model-folder.js";
import { modelPath } from "../models/model-path.js";
import { resolveModel, type ModelSource } from "../models/resolve.js";
import { Tokenizer } from "../text/tokenizer.js";
import { loadTemplate } from "./llm-template.js";
import type { LoadedModel } from "./llm-model.js";
import type { LLMLoadOptions } from "./llm-options.js";

/**
 * Loads a language model: device check, files, tokenizer and template, then the native generator. What was opened is given
 * back if a later step fails or the signal aborts.
 */
export async function loadModel(model: unknown, options: LLMLoadOptions): Promise<LoadedModel> {
  const started = performance.now();
  const { signal } = options;
  throwIfAborted(signal);
  modelPath(model);
  const resolved = resolveLoadOptions(options);
  const progress = new LoadProgressReporter(options.onProgress);
  const native = getNative();
  // Before any file is touched: a wrong device must not cost a download or a long read.
  // Listing starts the GPU and NPU plugins, which costs time and memory; the CPU is always there.
  if (resolved.device !== "CPU") checkDevice(resolved.device, await native.listDevices());
  throwIfAborted(signal);

  progress.report("files", 0);
  const source = await resolveModel(model);
  const facts = await readModelFacts(source);
  const cache = await resolveCache(resolved.cache);
  progress.report("files", 1, source.path);
  throwIfAborted(signal);

  // The tokenizer is read here while the native side, in threads of its own, reads and compiles the model.
  const failure = new AbortController();
  const ends = signal ? AbortSignal.any([signal, failure.signal]) : failure.signal;
  const opening = openGenerator(native, generatorOptions(source, facts, resolved, cache.folder), progress, ends);
  const reading = readTextParts(source, options.chatTemplate, progress);
  try {
    const [generator, { tokenizer, template }] = await Promise.all([opening, reading]);
    progress.report("ready", 1);
    progress.assertListenerSound();
    const config = layerOfGenerationConfig(facts.generationConfig);
    return {
      source,
      facts,
      tokenizer,
      template,
      generator,
      events: eventsOf(native),
      loadOptions: resolved,
      givenLoadOptions: new Set(
        Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [name])),
      ),
      cacheFolder: cache.folder,
      stopTokenIds: [...new Set([...facts.eosTokenIds, ...tokenizer.stopIds])],
      configLayer: config.layer,
      notes: [
        ...facts.notes,
        ...config.notes,
        ...(cache.warning === undefined ? [] : [cache.warning]),
        ...statefulNote(facts, generator),
      ],
      loadMs: performance.now() - started,
    };
  } catch (error) {
    failure.abort(error);
    // What was opened all the same is given back before the error is told.
    await Promise.allSettled([
      opening.then((generator) => generator.close()),
      reading.then(({ tokenizer }) => tokenizer.dispose()),
    ]);
    throw error;
  }
}

async function readTextParts(
  source: ModelSource,
  chatTemplate: string | undefined,
  progress: LoadProgressReporter,
): Promise<Pick<LoadedModel, "tokenizer" | "template">> {
  const tokenizer =
    source.kind === "gguf" ? await Tokenizer.fromGguf(source.gguf) : await Tokenizer.fromFolder(source.path);
  const template = await loadTemplate(source, tokenizer, chatTemplate);
  progress.report("tokenizer", 1);
  return { tokenizer, template };
}

function statefulNote({ statefulReason }: ModelFacts, { info }: NativeGenerator): string[] {
  const reason = info.fallbackReason || statefulReason;
  return reason === "" ? [] : [`attention is stateful: ${reason}`];
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
  const { device, properties, weights, kvCache, warmUp, prefixCaching, maxBatchTokens, maxBatchSequences } = options;
  return {
    source:
      source.kind === "ir"
        ? { kind: "ir", xml: source.xml, bin: source.bin }
        : { kind: "gguf", files: source.gguf.files },
    device,
    properties,
    attention: attentionFor(facts, options),
    weights,
    kvCache,
    contextLength: facts.contextLength,
    cacheDir,
    modelKey: facts.modelKey,
    prefixCaching,
    maxBatchTokens,
    maxBatchSequences,
    warmUp,
  };
}

async function openGenerator(
  native: NativeAddon,
  options: NativeGeneratorOptions,
  progress: LoadProgressReporter,
  signal: AbortSignal,
): Promise<NativeGenerator> {
  const events = eventsOf(native);
  const { load, promise } = native.openGenerator(options);
  const onAbort = (): void => native.abortLoad(load);
  signal.addEventListener("abort", onAbort, { once: true });
  events.onLoad(load, (event) => progress.report(event.stage, event.fraction));
  try {
    const generator = await promise;
    try {
      // The load may have been finished already when the signal fired.
      throwIfAborted(signal);
      progress.assertListenerSound();
    } catch (error) {
      await generator.close();
      throw error;
    }
    return generator;
  } catch (error) {
    throw signal.aborted ? abortReason(signal) : error;
  } finally {
    events.offLoad(load);
    signal.removeEventListener("abort", onAbort);
  }
}
