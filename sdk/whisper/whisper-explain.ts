import { explainLoad, loadSource, type ExplainedLoad } from "../core/explain-load.js";
import { explainMerged, type Explanation, type OptionSource } from "../core/explain.js";
import { storedFormat } from "../core/weight-options.js";
import { batchSizeFor } from "./batch-size.js";
import type { LoadedWhisper } from "./whisper-model.js";
import type { WhisperCall } from "./whisper-settings.js";

/** Options of live audio, which recordings do not have. */
const LIVE_ONLY = ["partialEvery", "pause"];

/** Tells what is in force for a call, and where it comes from. */
export function explainWhisper(model: LoadedWhisper, call: WhisperCall): Explanation {
  const { settings, sources } = call;
  const options = explainMerged({ values: settings, sources });
  for (const name of LIVE_ONLY) Reflect.deleteProperty(options, name);
  const isMultilingual = model.facts.languages.size > 0;
  const say = (name: keyof typeof settings, value: unknown, source: OptionSource = "default"): void => {
    options[name] = { value, source: sources[name] === "default" ? source : sources[name] };
  };
  if (settings.language === undefined) {
    say("language", isMultilingual ? "found out by the model" : "en", isMultilingual ? "default" : "model");
  }
  say("batchSize", settings.mode === "batched" ? batchSizeFor(model, call) : 1);
  if (settings.range === undefined) say("range", "all of the audio");
  options["beginSuppressTokens"] = { value: [...call.beginSuppressTokens], source: "generation_config.json" };
  return { options, load: explainWhisperLoad(model), notes: [...call.notes, ...model.notes] };
}

function explainWhisperLoad(model: LoadedWhisper): ExplainedLoad {
  const { loadOptions, facts, transcriber, source: files } = model;
  return {
    ...explainLoad(model, transcriber.info.device),
    weights: {
      value: files.format === "openvino" ? "as the model's files have them" : storedFormat(loadOptions.weights),
      source: files.format === "openvino" ? "model" : loadSource(model, "weights"),
    },
    format: { value: files.format, source: "model" },
    languages: { value: facts.languages.size > 0 ? [...facts.languages.keys()].toSorted() : ["en"], source: "model" },
    melBins: { value: facts.melBins, source: "model" },
    maxPositions: { value: facts.maxPositions, source: "model" },
    wordTimestamps: { value: facts.alignmentHeads.length > 0, source: "model" },
  };
}
