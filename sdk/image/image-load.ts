import { stat } from "node:fs/promises";
import { ModelError, UnsupportedError } from "../core/errors.js";
import { attentionNote, resolveLoadOptions } from "../core/load-options.js";
import { eventsOf } from "../core/native-events.js";
import type { NativeGenerator } from "../core/native-types.js";
import { janusFacts, type JanusFacts } from "../models/janus-facts.js";
import { runLoad } from "../models/load-run.js";
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
 * Loads a model that makes pictures: files, tokenizer and facts, then the picture decoder and the language model with Janus's
 * image embeddings and image head.
 */
export function loadImageModel(model: unknown, options: ImageLoadOptions): Promise<LoadedImageModel> {
  const { weights, groupSize, ...common } = options;
  const resolved: ResolvedImageLoadOptions = { ...resolveLoadOptions(common), weights, groupSize };
  return runLoad({ model, options, resolved }, async (run) => {
    const source = await run.find((finding) => resolveVisionModel(model, { weights, groupSize, ...finding }));
    checkFamily(source);
    const facts = janusFacts(source);
    run.found(source.path);

    const tokenizer = await Tokenizer.fromFolder(source.folder);
    run.own(tokenizer, () => tokenizer.dispose());
    const tokenIds = promptTokenIds(tokenizer, facts, source.folder);
    const template = await janusTemplate(source, facts, tokenizer);
    run.progress.report("tokenizer", 1);
    const { device, properties } = resolved;
    const pictures = { ...source.graph(GRAPHS.pictures), device, properties, cacheDir: run.cacheFolder };
    const decoder = await run.open((native) => native.openGraph(pictures));
    const nativeOptions = visionGeneratorOptions(source, resolved, run.cacheFolder, {
      generatedEmbeddings: source.graph(GRAPHS.imageEmbeddings),
      head: source.graph(GRAPHS.head),
    });
    const generator = await run.open((native) => native.openGenerator(nativeOptions));
    checkHead(generator, facts, source);
    return {
      ...{ source, facts, tokenizer, tokenIds, template, generator, decoder },
      events: eventsOf(run.native),
      loadOptions: resolved,
      stepWeightBytes: await weightBytes(source, [GRAPHS.decoder, GRAPHS.head]),
      ...run.loaded(attentionNote(generator.info.fallbackReason)),
    };
  });
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
