import { throwIfAborted } from "../core/abort.js";
import { checkDevice } from "../core/devices.js";
import { layerOfGenerationConfig } from "../core/generation-options.js";
import { attentionNote, namesGiven, resolveLoadOptions, type ResolvedLoadOptions } from "../core/load-options.js";
import { eventsOf } from "../core/native-events.js";
import { loadSideBySide, nativeForDevice, openNative } from "../core/native-load.js";
import type { NativeAddon, NativeGenerator, NativeGeneratorOptions, NativeGraph } from "../core/native-types.js";
import { LoadProgressReporter } from "../core/progress.js";
import type { TextModel } from "../generation/text-model.js";
import { readImage } from "../media/image.js";
import { RgbImage } from "../media/rgb-image.js";
import { resolveCache } from "../models/cache.js";
import { planInWords } from "../models/convert/check-plan.js";
import { modelPath } from "../models/model-path.js";
import { LANGUAGE_GRAPHS, visionGeneratorOptions } from "../models/vision-generator.js";
import { resolveVisionModel, type VisionModelSource } from "../models/vision-model.js";
import { ChatTemplate } from "../text/chat-template.js";
import { templateOfFolder, templateOfText } from "../text/template-source.js";
import { Tokenizer } from "../text/tokenizer.js";
import type { OpenedFamily, VisionFamily } from "./families/family.js";
import { familyOf } from "./families/registry.js";
import { VisionEncoder } from "./vision-encoder.js";
import { visionModel } from "./vlm-model.js";
import type { VLMPart } from "./vlm-messages.js";
import { IMAGE_CACHE_BYTES, type VLMLoadOptions } from "./vlm-options.js";

/** A loaded vision-language model, and what only such a model tells about itself. */
export interface LoadedVisionModel {
  model: TextModel<VLMPart>;
  family: string;
  vision: { device: string; fromCache: boolean; loadMs: number };
}

const GRAPHS = {
  ...LANGUAGE_GRAPHS,
  head: "openvino_lm_head_model",
};

/**
 * Loads a vision-language model: device check, files (converted if need be) and family, then tokenizer and template beside the
 * native parts. What was opened is given back if a later step fails or the signal aborts.
 */
export async function loadVisionModel(model: unknown, options: VLMLoadOptions): Promise<LoadedVisionModel> {
  const started = performance.now();
  const { signal, weights, groupSize, visionDevice, imageCacheBytes = IMAGE_CACHE_BYTES, ...common } = options;
  throwIfAborted(signal);
  modelPath(model);
  const resolved = resolveLoadOptions(common);
  const progress = new LoadProgressReporter(options.onProgress);
  const native = await nativeForDevice(resolved, signal);
  if (visionDevice !== undefined && visionDevice !== "CPU") checkDevice(visionDevice, await native.listDevices());

  progress.report("files", 0);
  const cache = await resolveCache(resolved.cache);
  const source = await resolveVisionModel(model, {
    weights,
    groupSize,
    cacheFolder: cache.folder,
    needs: [GRAPHS.decoder, GRAPHS.embeddings],
    signal,
    onProgress: progress.reportConversion,
  });
  const family = familyOf(source);
  for (const name of [...family.graphs, ...(family.needs ?? [])]) source.graph(name);
  progress.report("files", 1, source.path);
  throwIfAborted(signal);

  const place = { device: visionDevice ?? resolved.device, cacheDir: cache.folder };
  const properties = place.device === resolved.device ? resolved.properties : {};
  const parts = await loadSideBySide(
    signal,
    {
      start: (ends) =>
        openParts(
          native,
          source,
          family,
          visionGeneratorOptions(
            source,
            resolved,
            cache.folder,
            source.has(GRAPHS.head) ? { head: source.graph(GRAPHS.head) } : {},
          ),
          { ...place, properties },
          progress,
          ends,
        ),
      undo: closeParts,
    },
    {
      start: () =>
        readOtherParts(source, family, { chatTemplate: options.chatTemplate, warmUp: resolved.warmUp }, progress),
      undo: ({ tokenizer }) => tokenizer.dispose(),
    },
  );
  const { opened, read } = parts;
  try {
    progress.report("ready", 1);
    progress.assertListenerSound();
    const { generator, graphs } = opened;
    const { tokenizer, template, opened: openedFamily } = read;
    const [first] = [...graphs.values()].map(({ info }) => info);
    const config = layerOfGenerationConfig(source.generationConfig);
    const stopTokens = (openedFamily.stopTokens ?? []).flatMap((token) => tokenizer.idOf(token) ?? []);
    const given = namesGiven(options);
    return {
      family: family.name,
      vision: { device: first!.device, fromCache: first!.fromCache, loadMs: loadMsOf(graphs) },
      model: visionModel({
        path: source.path,
        facts: { architecture: source.family, contextLength: source.contextLength },
        tokenizer,
        template,
        generator,
        events: eventsOf(native),
        loadOptions: {
          ...resolved,
          weights: source.format === "safetensors" ? planInWords({ format: weights, groupSize }) : "file",
        },
        givenLoadOptions: given,
        cacheFolder: cache.folder,
        stopTokenIds: [...new Set([...source.eosTokenIds, ...tokenizer.stopIds, ...stopTokens])],
        configLayer: config.layer,
        notes: [
          ...config.notes,
          ...(cache.warning === undefined ? [] : [cache.warning]),
          ...attentionNote(generator.info.fallbackReason),
        ],
        loadMs: performance.now() - started,
        family: openedFamily,
        encoder: new VisionEncoder(graphs, generator.info.hiddenSize, source.graph(family.graphs[0]).xml),
        imageCacheBytes,
        loadFacts: {
          family: { value: family.name, source: "model" },
          visionDevice: { value: first!.device, source: given.has("visionDevice") ? "call" : "default" },
          imageCacheBytes: { value: imageCacheBytes, source: given.has("imageCacheBytes") ? "call" : "default" },
        },
      }),
    };
  } catch (error) {
    await parts.undo(error);
    throw error;
  }
}

interface NativeParts {
  generator: NativeGenerator;
  graphs: Map<string, NativeGraph>;
}

/** Opens the vision part, then the language model. */
async function openParts(
  native: NativeAddon,
  source: VisionModelSource,
  family: VisionFamily,
  options: NativeGeneratorOptions,
  place: { device: string; properties: ResolvedLoadOptions["properties"]; cacheDir: string },
  progress: LoadProgressReporter,
  ends: AbortSignal,
): Promise<NativeParts> {
  const graphs = new Map<string, NativeGraph>();
  try {
    for (const name of family.graphs) {
      const graphOptions = { ...source.graph(name), ...place };
      graphs.set(name, await openNative(native, () => native.openGraph(graphOptions), progress, ends));
    }
    return { graphs, generator: await openNative(native, () => native.openGenerator(options), progress, ends) };
  } catch (error) {
    await closeParts({ graphs });
    throw error;
  }
}

async function closeParts({ generator, graphs }: Partial<NativeParts>): Promise<void> {
  await Promise.allSettled([generator?.close(), ...[...(graphs?.values() ?? [])].map((graph) => graph.close())]);
}

/** Tokenizer, template and family; with `warmUp`, what decodes and resizes pictures is started too. */
async function readOtherParts(
  source: VisionModelSource,
  family: VisionFamily,
  { chatTemplate, warmUp }: { chatTemplate: string | undefined; warmUp: boolean },
  progress: LoadProgressReporter,
): Promise<{ tokenizer: Tokenizer; template: ChatTemplate | undefined; opened: OpenedFamily }> {
  const tokenizer = await Tokenizer.fromFolder(source.folder);
  try {
    const opened = family.open(source, tokenizer);
    const builtIn =
      opened.chatTemplate === undefined
        ? undefined
        : templateOfText(opened.chatTemplate, `the template of ${family.name}`);
    const found =
      chatTemplate === undefined
        ? ((await templateOfFolder(source.folder)) ?? builtIn)
        : templateOfText(chatTemplate, "the option chatTemplate");
    progress.report("tokenizer", 1);
    if (warmUp) await lookOnce(opened);
    return { tokenizer, template: found && new ChatTemplate(found, tokenizer), opened };
  } catch (error) {
    await tokenizer.dispose();
    throw error;
  }
}

/** Decodes and prepares a small picture. What fails here is told when a picture of the user's is read. */
async function lookOnce(family: OpenedFamily): Promise<void> {
  try {
    const file = await new RgbImage(8, 8, new Uint8Array(8 * 8 * 3)).toBuffer("png");
    await family.prepare(await readImage(file));
  } catch {
    // Text-only use goes on without a decoder.
  }
}

function loadMsOf(graphs: ReadonlyMap<string, NativeGraph>): number {
  return [...graphs.values()].reduce(
    (sum, { info: { timings } }) => sum + timings.readMs + timings.compileMs + timings.importMs,
    0,
  );
}
