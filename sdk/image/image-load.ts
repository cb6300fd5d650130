import { stat } from "node:fs/promises";
import { throwIfAborted } from "../core/abort.js";
import { ModelError, UnsupportedError } from "../core/errors.js";
import { attentionNote, namesGiven, resolveLoadOptions } from "../core/load-options.js";
import { eventsOf } from "../core/native-events.js";
import { nativeForDevice, openNative } from "../core/native-load.js";
import type { NativeGenerator, NativeGraph } from "../core/native-types.js";
import { LoadProgressReporter } from "../core/progress.js";
import { resolveCache } from "../models/cache.js";
import { janusFacts, type JanusFacts } from "../models/janus-facts.js";
import { modelPath } from "../models/model-path.js";
import { LANGUAGE_GRAPHS, visionGeneratorOptions } from "../models/vision-generator.js";
import { resolveVisionModel, type VisionModelSource } from "../models/vision-model.js";
import { ChatTemplate } from "../text/chat-template.js";
import { templateOfFolder } from "../text/template-source.js";
import { Tokenizer } from "../text/tokenizer.js";
import type { LoadedImageModel, ResolvedImageLoadOptions } from "./image-model.js";
import type { ImageLoadOptions } from "./image-options.js";
import { promptTokenIds } from "./image-prompt.js";

const GRAPHS = {
  ...LANGUAGE_GRAPHS,
  imageEmbeddings: "openvino_gen_embeddings_model",
  head: "openvino_gen_head_model",
  pictures: "openvino_gen_decoder_model",
};

/**
 * Loads a model that makes pictures: device check, files (converted if need be), tokenizer and facts, then the language model
 * with Janus's image embeddings and image head, then the picture decoder. What was opened is given back if a later step fails or
 * the signal aborts.
 */
export async function loadImageModel(model: unknown, options: ImageLoadOptions): Promise<LoadedImageModel> {
  const started = performance.now();
  const { signal } = options;
  throwIfAborted(signal);
  modelPath(model);
  const { weights, groupSize, ...common } = options;
  const resolved: ResolvedImageLoadOptions = { ...resolveLoadOptions(common), weights, groupSize };
  const progress = new LoadProgressReporter(options.onProgress);
  const native = await nativeForDevice(resolved, signal);

  progress.report("files", 0);
  const cache = await resolveCache(resolved.cache);
  const source = await resolveVisionModel(model, {
    weights,
    groupSize,
    cacheFolder: cache.folder,
    signal,
    onProgress: progress.reportConversion,
  });
  checkFamily(source);
  const facts = janusFacts(source);
  progress.report("files", 1, source.path);
  throwIfAborted(signal);

  const opened: { close(): Promise<void> }[] = [];
  const tokenizer = await Tokenizer.fromFolder(source.folder);
  try {
    const tokenIds = promptTokenIds(tokenizer, facts, source.folder);
    const template = await janusTemplate(source, facts, tokenizer);
    progress.report("tokenizer", 1);
    const ends = signal ?? new AbortController().signal;
    const open = async <Opened extends NativeGenerator | NativeGraph>(
      start: () => { load: number; promise: Promise<Opened> },
    ): Promise<Opened> => {
      const part = await openNative(native, start, progress, ends);
      opened.push(part);
      return part;
    };
    const { device, properties } = resolved;
    const pictures = { ...source.graph(GRAPHS.pictures), device, properties, cacheDir: cache.folder };
    const decoder = await open(() => native.openGraph(pictures));
    const nativeOptions = visionGeneratorOptions(source, resolved, cache.folder, {
      generatedEmbeddings: source.graph(GRAPHS.imageEmbeddings),
      head: source.graph(GRAPHS.head),
    });
    const generator = await open(() => native.openGenerator(nativeOptions));
    checkHead(generator, facts, source);
    progress.report("ready", 1);
    progress.assertListenerSound();
    return {
      source,
      facts,
      tokenizer,
      tokenIds,
      template,
      generator,
      decoder,
      events: eventsOf(native),
      loadOptions: resolved,
      givenLoadOptions: namesGiven(options),
      cacheFolder: cache.folder,
      notes: [...(cache.warning === undefined ? [] : [cache.warning]), ...attentionNote(generator.info.fallbackReason)],
      stepWeightBytes: await weightBytes(source, [GRAPHS.decoder, GRAPHS.head]),
      loadMs: performance.now() - started,
    };
  } catch (error) {
    await Promise.allSettled([...opened.map((part) => part.close()), tokenizer.dispose()]);
    throw error;
  }
}

function checkFamily(source: VisionModelSource): void {
  if (source.family !== "janus") {
    throw new UnsupportedError(
      `${source.path} holds a model of type ${source.family}, which does not make pictures. ImagePipeline takes Janus models ` +
        "(deepseek-community/Janus-Pro-1B or -7B); VLMPipeline describes pictures with other ones.",
      { subject: source.family },
    );
  }
  const missing = Object.values(GRAPHS).filter((name) => !source.has(name));
  // Tells what is wrong with the file.
  if (missing.length === 1) source.graph(missing[0]!);
  if (missing.length > 0) {
    throw new ModelError(
      `${source.folder} lacks ${missing.map((name) => `${name}.xml (or its .bin)`).join(", ")}. Convert the checkpoint again: ` +
        "npx pergola convert.",
      { file: source.folder },
    );
  }
}

/** The model's own template, else the family's. */
async function janusTemplate(
  source: VisionModelSource,
  facts: JanusFacts,
  tokenizer: Tokenizer,
): Promise<ChatTemplate> {
  const own = await templateOfFolder(source.folder);
  const builtIn = { templates: new Map([["default", facts.chatTemplate]]), file: "the chat template of Janus-Pro" };
  return new ChatTemplate(own ?? builtIn, tokenizer);
}

async function weightBytes(source: VisionModelSource, graphs: readonly string[]): Promise<number> {
  const sizes = await Promise.all(graphs.map(async (name) => (await stat(source.graph(name).bin)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Graphs of two models in one folder would make noise. */
function checkHead({ info }: NativeGenerator, { codebookSize }: JanusFacts, source: VisionModelSource): void {
  if (info.vocabSize === codebookSize) return;
  throw new ModelError(
    `${source.folder}: ${GRAPHS.head} tells ${info.vocabSize} image tokens apart, but config.json says ${codebookSize}. ` +
      "The files are of two models: convert the checkpoint again.",
    { file: source.graph(GRAPHS.head).xml },
  );
}
