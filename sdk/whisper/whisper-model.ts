import type { ResolvedCommonOptions } from "../core/load-options.js";
import type { NativeAddon, NativeTranscriber } from "../core/native-types.js";
import type { LoadedModel } from "../core/pipeline.js";
import type { WeightsOption } from "../core/weight-options.js";
import type { WhisperModelSource } from "../models/whisper-model.js";
import type { Tokenizer } from "../text/tokenizer.js";
import type { WhisperFacts } from "./whisper-facts.js";

/** Everything a loaded Whisper model consists of. */
export interface LoadedWhisper extends LoadedModel {
  readonly source: WhisperModelSource;
  readonly facts: WhisperFacts;
  readonly tokenizer: Tokenizer;
  readonly transcriber: NativeTranscriber;
  readonly native: NativeAddon;
  readonly loadOptions: ResolvedCommonOptions & { weights: WeightsOption | undefined };
}
