import { explainMerged, type ExplainedValue, type Explanation, type OptionSource } from "../core/explain.js";
import { mergeGeneration, type GenerationLayer } from "../core/generation-options.js";
import { explainGeneratorLoad, loadSource, type ExplainedLoad } from "../core/explain-load.js";
import type { PromptOptions } from "./call-options.js";
import type { EncodedPrompt, TextModel } from "./text-model.js";

/** Options about the prompt, from one source. */
export interface PromptLayer {
  source: OptionSource;
  values: PromptOptions;
}

const PROMPT_DEFAULTS = { applyChatTemplate: true, tools: [], templateOptions: {}, allowControlTokens: false };

/** Tells what is in force for a call, and where it comes from. */
export function explainCall<Part>(
  model: TextModel<Part>,
  layers: readonly GenerationLayer[],
  promptLayers: readonly PromptLayer[],
  prompt?: EncodedPrompt,
): Explanation {
  const merged = mergeGeneration([...layers, model.configLayer]);
  const options = explainMerged(merged);
  const { maxRequestTokens } = model.generator.info;
  options["maxNewTokens"] = unset(options["maxNewTokens"]!, `what is left of the context (${maxRequestTokens} tokens)`);
  options["seed"] = unset(options["seed"]!, "drawn at random for each call");
  // The call's own stop tokens come on top of the model's.
  options["eosTokenIds"] = { value: merged.values.ignoreEos ? [] : [...model.stopTokenIds], source: "model" };
  for (const [name, value] of Object.entries(PROMPT_DEFAULTS)) {
    const layer = promptLayers.find(({ values }) => values[name as keyof PromptOptions] !== undefined);
    options[name] = layer
      ? { value: layer.values[name as keyof PromptOptions], source: layer.source }
      : { value, source: "default" };
  }
  const notes = [...merged.notes, ...model.notes];
  if (!model.template) notes.push("The model has no chat template: prompts need applyChatTemplate: false.");
  if (prompt?.foldedSystem) {
    notes.push("The chat template refuses the system role: the system text is put in front of the first user message.");
  }
  return {
    options,
    load: explainTextLoad(model),
    notes,
    ...(prompt ? { prompt: { text: prompt.text, tokens: prompt.ids.length } } : {}),
  };
}

/** Facts fixed at load: what was asked for, and what the engine made of it. */
function explainTextLoad<Part>(model: TextModel<Part>): ExplainedLoad {
  const { facts, generator, loadOptions, template } = model;
  return {
    ...explainGeneratorLoad(model),
    weights: { value: loadOptions.weights, source: loadSource(model, "weights") },
    contextLength: { value: facts.contextLength, source: "model" },
    maxRequestTokens: { value: generator.info.maxRequestTokens, source: "model" },
    architecture: { value: facts.architecture, source: "model" },
    chatTemplate: {
      value: template?.file ?? "none",
      source: model.givenLoadOptions.has("chatTemplate") ? "call" : "model",
    },
    ...model.loadFacts,
  };
}

function unset(explained: ExplainedValue, words: string): ExplainedValue {
  return explained.value === undefined ? { ...explained, value: words } : explained;
}
