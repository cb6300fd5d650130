import type { GenerationLayer } from "../core/generation-options.js";
import type { ResolvedLoadOptions } from "../core/load-options.js";
import type { NativeEventRouter } from "../core/native-events.js";
import type { NativeGenerator } from "../core/native-types.js";
import type { ModelFacts } from "../models/model-folder.js";
import type { ModelSource } from "../models/resolve.js";
import type { ChatTemplate } from "../text/chat-template.js";
import type { Tokenizer } from "../text/tokenizer.js";

/** Everything a loaded language model consists of; what pipeline and chats share. */
export interface LoadedModel {
  readonly source: ModelSource;
  readonly facts: ModelFacts;
  readonly tokenizer: Tokenizer;
  /** `undefined`: the model has none. */
  readonly template: ChatTemplate | undefined;
  readonly generator: NativeGenerator;
  readonly events: NativeEventRouter;
  readonly loadOptions: ResolvedLoadOptions;
  /** Names of load options that the caller gave. */
  readonly givenLoadOptions: ReadonlySet<string>;
  /** Folder of the compile cache; empty = none. */
  readonly cacheFolder: string;
  /** Tokens that end an answer: what the configuration and the tokenizer name. */
  readonly stopTokenIds: readonly number[];
  /** What `generation_config.json` asks for. */
  readonly configLayer: GenerationLayer;
  /** What `explain()` tells in every case. */
  readonly notes: readonly string[];
  readonly loadMs: number;
}
