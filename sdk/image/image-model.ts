import type { ResolvedLoadOptions } from "../core/load-options.js";
import type { WeightsOption } from "../core/weight-options.js";
import type { NativeEventRouter } from "../core/native-events.js";
import type { NativeGenerator, NativeGraph } from "../core/native-types.js";
import type { LoadedModel } from "../core/pipeline.js";
import type { JanusFacts } from "../models/janus-facts.js";
import type { VisionModelSource } from "../models/vision-model.js";
import type { ChatTemplate } from "../text/chat-template.js";
import type { Tokenizer } from "../text/tokenizer.js";

/** Load options with every default filled in. */
export type ResolvedImageLoadOptions = Omit<ResolvedLoadOptions, "weights"> & {
  weights: WeightsOption | undefined;
  groupSize: number | undefined;
};

/** Ids of the tokens that prompts of pictures are built with. */
export interface PromptTokenIds {
  bos: number;
  pad: number;
  beginOfImage: number;
}

/** Everything a loaded model for making pictures consists of. */
export interface LoadedImageModel extends LoadedModel {
  readonly source: VisionModelSource;
  readonly facts: JanusFacts;
  readonly tokenizer: Tokenizer;
  readonly tokenIds: PromptTokenIds;
  readonly template: ChatTemplate;
  readonly generator: NativeGenerator;
  /** Image tokens to pixels. */
  readonly decoder: NativeGraph;
  readonly events: NativeEventRouter;
  readonly loadOptions: ResolvedImageLoadOptions;
  /** Weights that are read at each step: of the language model and the image head. */
  readonly stepWeightBytes: number;
}
