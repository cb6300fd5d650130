import type { ResolvedCommonOptions } from "../core/load-options.js";
import type { NativeAddon, NativeTranscriber } from "../core/native-types.js";
import type { WeightsOption } from "../core/weight-options.js";
import type { WhisperModelSource } from "../models/whisper-model.js";
import type { Tokenizer } from "../text/tokenizer.js";
import type { WhisperFacts } from "./whisper-facts.js";

/** Everything a loaded Whisper model consists of. */
export interface LoadedWhisper {
  readonly source: WhisperModelSource;
  readonly facts: WhisperFacts;
  readonly tokenizer: Tokenizer;
  readonly transcriber: NativeTranscriber;
  readonly native: NativeAddon;
  readonly loadOptions: ResolvedCommonOptions & { weights: WeightsOption | undefined };
  /** Names of load options that the caller gave. */
  readonly givenLoadOptions: ReadonlySet<string>;
  /** Folder of the compile cache; empty = none. */
  readonly cacheFolder: string;
  /** What `explain()` tells in every case. */
  readonly notes: readonly string[];
  readonly loadMs: number;
}
