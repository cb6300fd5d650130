import type { ExplainedValue, OptionSource } from "./explain.js";
import type { ResolvedCommonOptions, ResolvedLoadOptions } from "./load-options.js";
import type { NativeGeneratorInfo } from "./native-types.js";
import type { LoadedModel } from "./pipeline.js";

/** Facts of a load as `explain()` tells them. */
export type ExplainedLoad = Record<string, ExplainedValue>;

/** Whether the caller gave a load option. */
export function loadSource({ givenLoadOptions }: LoadedModel, name: string): OptionSource {
  return givenLoadOptions.has(name) ? "call" : "default";
}

/** What holds for the load of every model. @param device - the one it is on */
export function explainLoad(
  model: LoadedModel & { loadOptions: Omit<ResolvedCommonOptions, "cache"> },
  device: string,
): ExplainedLoad {
  const { cacheFolder, loadOptions } = model;
  return {
    device: { value: device, source: loadSource(model, "device") },
    properties: { value: loadOptions.properties, source: loadSource(model, "properties") },
    cache: { value: cacheFolder === "" ? false : cacheFolder, source: loadSource(model, "cache") },
    warmUp: { value: loadOptions.warmUp, source: loadSource(model, "warmUp") },
  };
}

/** The same, with what holds for every model that the Generator runs. */
export function explainGeneratorLoad(
  model: LoadedModel & { loadOptions: Omit<ResolvedLoadOptions, "weights">; generator: { info: NativeGeneratorInfo } },
): ExplainedLoad {
  const { info } = model.generator;
  const { kvCache, prefixCaching, maxBatchTokens, maxBatchSequences } = model.loadOptions;
  const ofCache = (given: unknown): OptionSource => (given === undefined ? "default" : "call");
  return {
    ...explainLoad(model, info.device),
    attention: { value: info.attention, source: info.fallbackReason === "" ? loadSource(model, "attention") : "model" },
    kvPrecision: { value: info.kvPrecision, source: ofCache(kvCache.precision) },
    kvCapacityTokens: { value: info.kvCapacityTokens, source: ofCache(kvCache.tokens ?? kvCache.bytes) },
    prefixCaching: { value: prefixCaching, source: loadSource(model, "prefixCaching") },
    maxBatchTokens: { value: maxBatchTokens, source: loadSource(model, "maxBatchTokens") },
    maxBatchSequences: { value: maxBatchSequences, source: loadSource(model, "maxBatchSequences") },
  };
}
