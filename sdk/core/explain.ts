/** Where the value of an option came from, strongest first. */
export type OptionSource = "call" | "chat" | "generation_config.json" | "model" | "default";

/** One effective value with its source. */
export interface ExplainedValue<Value = unknown> {
  value: Value;
  source: OptionSource;
}

/** What would be in force for a call, and why. */
export interface Explanation {
  /** Every generation option: the value in force and where it came from. */
  options: Record<string, ExplainedValue>;
  /** Facts fixed when the pipeline was loaded: device, attention, weights, KV cache, context length, compile cache. */
  load: Record<string, ExplainedValue>;
  /** What a reader may not expect: options without effect, fall-backs, changes made to the messages. */
  notes: string[];
  /** The prompt as the model sees it, when one was given. */
  prompt?: { text: string; tokens: number };
}

/** Values of one source. `undefined` means "not set here". */
export interface OptionLayer<Options> {
  source: OptionSource;
  values: { [Key in keyof Options]?: Options[Key] | undefined };
}

/** Options merged from several sources, each value with its source. */
export interface MergedOptions<Options> {
  values: Options;
  sources: Record<keyof Options, OptionSource>;
}

/**
 * Merges options; for each name the first layer that sets it wins.
 *
 * @param layers - strongest first
 * @param defaults - every option there is
 */
export function mergeOptions<Options extends object>(
  layers: readonly OptionLayer<Options>[],
  defaults: Options,
): MergedOptions<Options> {
  const values = { ...defaults };
  const sources = {} as Record<keyof Options, OptionSource>;
  for (const key of Object.keys(defaults) as (keyof Options)[]) {
    const layer = layers.find((candidate) => candidate.values[key] !== undefined);
    sources[key] = layer?.source ?? "default";
    if (layer) values[key] = layer.values[key] as Options[typeof key];
  }
  return { values, sources };
}

/** The merged options in the form that `explain()` returns. */
export function explainMerged<Options extends object>(merged: MergedOptions<Options>): Record<string, ExplainedValue> {
  const explained: Record<string, ExplainedValue> = {};
  for (const key of Object.keys(merged.sources) as (keyof Options & string)[]) {
    explained[key] = { value: merged.values[key], source: merged.sources[key] };
  }
  return explained;
}
