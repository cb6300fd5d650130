import { layerOfGenerationConfig } from "../core/generation-options.js";
import { attentionNote, resolveLoadOptions, type ResolvedLoadOptions } from "../core/load-options.js";
import { eventsOf } from "../core/native-events.js";
import type { NativeGenerator, NativeGeneratorOptions, NativeGraph } from "../core/native-types.js";
import type { TextModel } from "../generation/text-model.js";
import { readImage } from "../media/image.js";
import { RgbImage } from "../media/rgb-image.js";
import { planInWords } from "../models/convert/check-plan.js";
import { runLoad, type LoadRun } from "../models/load-run.js";
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

/** Loads a vision-language model: files and family, then tokenizer and template beside the native parts. */
export function loadVisionModel(model: unknown, options: VLMLoadOptions): Promise<LoadedVisionModel> {
  const { weights, groupSize, visionDevice, imageCacheBytes = IMAGE_CACHE_BYTES, ...common } = options;
  const resolved = resolveLoadOptions(common);
  return runLoad({ model, options, resolved, furtherDevices: [visionDevice] }, async (run) => {
    const needs = [GRAPHS.decoder, GRAPHS.embeddings];
    const source = await run.find((finding) => resolveVisionModel(model, { weights, groupSize, needs, ...finding }));
    const family = familyOf(source);
    for (const name of [...family.graphs, ...(family.needs ?? [])]) source.graph(name);
    run.found(source.path);

    const device = visionDevice ?? resolved.device;
    const properties = device === resolved.device ? resolved.properties : {};
    const head = source.has(GRAPHS.head) ? { head: source.graph(GRAPHS.head) } : {};
    const nativeOptions = visionGeneratorOptions(source, resolved, run.cacheFolder, head);
    const [{ generator, graphs }, { tokenizer, template, opened: openedFamily }] = await run.sideBySide(
      () => openParts(source, family, nativeOptions, { device, properties, cacheDir: run.cacheFolder }, run),
      () => readOtherParts(source, family, { chatTemplate: options.chatTemplate, warmUp: resolved.warmUp }, run),
    );

    const [first] = [...graphs.values()].map(({ info }) => info);
    const config = layerOfGenerationConfig(source.generationConfig);
    const stopTokens = (openedFamily.stopTokens ?? []).flatMap((token) => tokenizer.idOf(token) ?? []);
    const { notes, ...loaded } = run.loaded(attentionNote(generator.info.fallbackReason));
    const sourceOf = (name: string) => (loaded.givenLoadOptions.has(name) ? "call" : "default");
    return {
      family: family.name,
      vision: { device: first!.device, fromCache: first!.fromCache, loadMs: loadMsOf(graphs) },
      model: visionModel({
        ...{ path: source.path, tokenizer, template, generator, imageCacheBytes },
        facts: { architecture: source.family, contextLength: source.contextLength },
        events: eventsOf(run.native),
        loadOptions: {
          ...resolved,
          weights: source.format === "safetensors" ? planInWords({ format: weights, groupSize }) : "file",
        },
        stopTokenIds: [...new Set([...source.eosTokenIds, ...tokenizer.stopIds, ...stopTokens])],
        configLayer: config.layer,
        family: openedFamily,
        encoder: new VisionEncoder(graphs, generator.info.hiddenSize, source.graph(family.graphs[0]).xml),
        loadFacts: {
          family: { value: family.name, source: "model" },
          visionDevice: { value: first!.device, source: sourceOf("visionDevice") },
          imageCacheBytes: { value: imageCacheBytes, source: sourceOf("imageCacheBytes") },
        },
        ...loaded,
        notes: [...config.notes, ...notes],
      }),
    };
  });
}

/** Opens the vision part, then the language model. */
async function openParts(
  source: VisionModelSource,
  family: VisionFamily,
  options: NativeGeneratorOptions,
  place: { device: string; properties: ResolvedLoadOptions["properties"]; cacheDir: string },
  run: LoadRun,
): Promise<{ generator: NativeGenerator; graphs: Map<string, NativeGraph> }> {
  const graphs = new Map<string, NativeGraph>();
  for (const name of family.graphs) {
    const graphOptions = { ...source.graph(name), ...place };
    graphs.set(name, await run.open((native) => native.openGraph(graphOptions)));
  }
  return { graphs, generator: await run.open((native) => native.openGenerator(options)) };
}

/** Tokenizer, template and family; with `warmUp`, what decodes and resizes pictures is started too. */
async function readOtherParts(
  source: VisionModelSource,
  family: VisionFamily,
  { chatTemplate, warmUp }: { chatTemplate: string | undefined; warmUp: boolean },
  run: LoadRun,
): Promise<{ tokenizer: Tokenizer; template: ChatTemplate | undefined; opened: OpenedFamily }> {
  const tokenizer = await Tokenizer.fromFolder(source.folder);
  run.own(tokenizer, () => tokenizer.dispose());
  const opened = family.open(source, tokenizer);
  const builtIn =
    opened.chatTemplate === undefined
      ? undefined
      : templateOfText(opened.chatTemplate, `the template of ${family.name}`);
  const found =
    chatTemplate === undefined
      ? ((await templateOfFolder(source.folder)) ?? builtIn)
      : templateOfText(chatTemplate, "the option chatTemplate");
  run.progress.report("tokenizer", 1);
  if (warmUp) await lookOnce(opened);
  return { tokenizer, template: found && new ChatTemplate(found, tokenizer), opened };
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
