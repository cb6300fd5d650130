import { UnsupportedError } from "../core/errors.js";
import { layerOfGenerationConfig } from "../core/generation-options.js";
import { attentionNote, engineOptions, resolveLoadOptions, type ResolvedLoadOptions } from "../core/load-options.js";
import { eventsOf } from "../core/native-events.js";
import type { NativeGeneratorOptions } from "../core/native-types.js";
import type { TextModel } from "../generation/text-model.js";
import { planInWords } from "../models/convert/check-plan.js";
import { runLoad, type LoadRun } from "../models/load-run.js";
import { readModelFacts, type ModelFacts } from "../models/model-folder.js";
import { resolveModel, type ModelSource } from "../models/resolve.js";
import { Tokenizer } from "../text/tokenizer.js";
import { languageModel } from "./llm-model.js";
import type { LLMLoadOptions } from "./llm-options.js";
import { loadTemplate } from "./llm-template.js";

/** Loads a language model: files, then tokenizer and template beside the native generator. */
export function loadModel(model: unknown, options: LLMLoadOptions): Promise<TextModel> {
  const { weights, groupSize, ...common } = options;
  const resolved = resolveLoadOptions({ ...common, ...(weights === "int8" && { weights }) });
  return runLoad({ model, options, resolved }, async (run) => {
    const source = await run.find((finding) => resolveModel(model, { weights, groupSize, ...finding }));
    const facts = await readModelFacts(source);
    const given = (source.kind === "ir" ? source.checkpoint : undefined) ?? source.path;
    run.found(given);

    // The tokenizer is read here while the native side, in threads of its own, reads and compiles the model.
    const nativeOptions = generatorOptions(source, facts, resolved, run.cacheFolder);
    const [generator, text] = await run.sideBySide(
      () => run.open((native) => native.openGenerator(nativeOptions)),
      () => readTextParts(source, options.chatTemplate, run),
    );
    const config = layerOfGenerationConfig(facts.generationConfig);
    const attention = attentionNote(generator.info.fallbackReason || facts.statefulReason);
    const { notes, ...loaded } = run.loaded(attention);
    return languageModel(given, {
      ...{ facts, ...text, generator },
      events: eventsOf(run.native),
      loadOptions: { ...resolved, weights: storedWeights(source, options) },
      stopTokenIds: [...new Set([...facts.eosTokenIds, ...text.tokenizer.stopIds])],
      configLayer: config.layer,
      ...loaded,
      notes: [...facts.notes, ...config.notes, ...notes],
    });
  });
}

/** For `explain()`: a checkpoint has no form of its own to keep. */
function storedWeights({ kind, ...source }: ModelSource, { weights = "file", groupSize }: LLMLoadOptions): string {
  if (kind === "gguf" || !("checkpoint" in source)) return weights;
  return planInWords({ format: weights, groupSize });
}

async function readTextParts(
  source: ModelSource,
  chatTemplate: string | undefined,
  run: LoadRun,
): Promise<Pick<TextModel, "tokenizer" | "template">> {
  const tokenizer =
    source.kind === "gguf" ? await Tokenizer.fromGguf(source.gguf) : await Tokenizer.fromFolder(source.path);
  run.own(tokenizer, () => tokenizer.dispose());
  const template = await loadTemplate(source, tokenizer, chatTemplate);
  run.progress.report("tokenizer", 1);
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
