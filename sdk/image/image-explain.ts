import { explainGeneratorLoad, loadSource, type ExplainedLoad } from "../core/explain-load.js";
import { explainMerged, type Explanation } from "../core/explain.js";
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
    load: explainImageLoad(model),
    notes: [...call.notes, ...model.notes],
    ...(prompt ? { prompt: { text: prompt.text, tokens: prompt.ids.length } } : {}),
  };
}

function explainImageLoad(model: LoadedImageModel): ExplainedLoad {
  const { facts, loadOptions, source: files } = model;
  const isIr = files.format === "openvino";
  return {
    ...explainGeneratorLoad(model),
    weights: {
      value: isIr
        ? "as the model's files have them"
        : planInWords({ format: loadOptions.weights, groupSize: loadOptions.groupSize }),
      source: isIr ? "model" : loadSource(model, "weights"),
    },
    format: { value: files.format, source: "model" },
    contextLength: { value: files.contextLength, source: "model" },
    imageTokens: { value: facts.imageTokens, source: "model" },
    imageSize: { value: facts.imageSize, source: "model" },
    chatTemplate: { value: model.template.file, source: "model" },
  };
}
