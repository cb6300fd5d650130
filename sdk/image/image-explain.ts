import { explainMerged, type ExplainedValue, type Explanation, type OptionSource } from "../core/explain.js";
import type { ResolvedLoadOptions } from "../core/load-options.js";
import { planInWords } from "../models/convert/check-plan.js";
import type { LoadedImageModel } from "./image-model.js";
import type { EncodedImagePrompt } from "./image-prompt.js";
import type { ImageCall } from "./image-settings.js";

/** Tells what is in force for a call, and where it comes from. */
export function explainImages(model: LoadedImageModel, call: ImageCall, prompt?: EncodedImagePrompt): Explanation {
  const options = explainMerged(call);
  const say = (name: string, words: string): void => {
    const known = options[name]!;
    if (known.value === undefined) options[name] = { ...known, value: words };
  };
  say("seed", "drawn at random for each call");
  say("previewEvery", "no previews");
  return {
    options,
    load: explainLoad(model),
    notes: [...call.notes, ...model.notes],
    ...(prompt ? { prompt: { text: prompt.text, tokens: prompt.ids.length } } : {}),
  };
}

function explainLoad(model: LoadedImageModel): Record<string, ExplainedValue> {
  const { facts, loadOptions, givenLoadOptions, source: files } = model;
  const { info } = model.generator;
  const source = (name: keyof ResolvedLoadOptions): OptionSource => (givenLoadOptions.has(name) ? "call" : "default");
  const isIr = files.format === "openvino";
  const { kvCache } = loadOptions;
  return {
    device: { value: info.device, source: source("device") },
    properties: { value: loadOptions.properties, source: source("properties") },
    attention: { value: info.attention, source: info.fallbackReason === "" ? source("attention") : "model" },
    weights: {
      value: isIr
        ? "as the model's files have them"
        : planInWords({ format: loadOptions.weights, groupSize: loadOptions.groupSize }),
      source: isIr ? "model" : source("weights"),
    },
    format: { value: files.format, source: "model" },
    kvPrecision: { value: info.kvPrecision, source: kvCache.precision === undefined ? "default" : "call" },
    kvCapacityTokens: {
      value: info.kvCapacityTokens,
      source: kvCache.tokens === undefined && kvCache.bytes === undefined ? "default" : "call",
    },
    contextLength: { value: files.contextLength, source: "model" },
    imageTokens: { value: facts.imageTokens, source: "model" },
    imageSize: { value: facts.imageSize, source: "model" },
    chatTemplate: { value: model.template.file, source: "model" },
    cache: { value: model.cacheFolder === "" ? false : model.cacheFolder, source: source("cache") },
    warmUp: { value: loadOptions.warmUp, source: source("warmUp") },
    prefixCaching: { value: loadOptions.prefixCaching, source: source("prefixCaching") },
    maxBatchTokens: { value: loadOptions.maxBatchTokens, source: source("maxBatchTokens") },
    maxBatchSequences: { value: loadOptions.maxBatchSequences, source: source("maxBatchSequences") },
  };
}
