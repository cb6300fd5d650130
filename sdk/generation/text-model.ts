import type { CallSite } from "../core/call-site.js";
import type { ExplainedValue } from "../core/explain.js";
import type { GenerationLayer } from "../core/generation-options.js";
import type { ResolvedLoadOptions } from "../core/load-options.js";
import type { MetricsClock } from "../core/metrics.js";
import type { NativeEventRouter } from "../core/native-events.js";
import type { NativeGenerator, NativePositions, NativePromptRows } from "../core/native-types.js";
import type { LoadedModel } from "../core/pipeline.js";
import type { ChatTemplate } from "../text/chat-template.js";
import type { TextPart } from "../text/messages.js";
import type { Tokenizer } from "../text/tokenizer.js";
import type { MessageRules } from "./message-rules.js";
import type { CheckedPrompt } from "./prompt.js";

/** What a loaded model that answers in text consists of, whatever its prompts are made of. */
export interface TextModelParts extends LoadedModel {
  readonly facts: {
    /** `model_type` of the configuration, or the GGUF architecture. */
    readonly architecture: string;
    /** Tokens the model was made for; 0 = not told. */
    readonly contextLength: number;
  };
  readonly tokenizer: Tokenizer;
  /** `undefined`: the model has none. */
  readonly template: ChatTemplate | undefined;
  readonly generator: NativeGenerator;
  readonly events: NativeEventRouter;
  readonly loadOptions: Omit<ResolvedLoadOptions, "weights"> & { readonly weights: string };
  /** Tokens that end an answer: what the configuration and the tokenizer name. */
  readonly stopTokenIds: readonly number[];
  /** What `generation_config.json` asks for. */
  readonly configLayer: GenerationLayer;
}

/** Where and for whom the work on a prompt is done. */
export interface PromptWork {
  clock: MetricsClock;
  callSite: CallSite;
  /** Ends the work. */
  signal: AbortSignal;
}

/** A prompt as the model sees it. */
export interface EncodedPrompt {
  text: string;
  ids: readonly number[];
  /** The template refuses the system role; its text went into the first user message. */
  foldedSystem: boolean;
  /** How many of the ids stand for pictures. Defaults to 0. */
  imageTokens?: number;
  /** Positions where they are not 0, 1, 2, ... */
  positions?: NativePositions | undefined;
  /** Makes the rows that stand in the place of tokens; called once the prompt is known to fit. */
  rows?: ((work: PromptWork) => Promise<NativePromptRows[]>) | undefined;
}

/**
 * A loaded model that answers in text: what calls, chats and `explain()` need to know about it. Pipelines differ in what stands
 * in messages (`Part`) and in how a prompt becomes tokens.
 */
export interface TextModel<Part = TextPart> extends TextModelParts {
  readonly messages: MessageRules<Part>;
  /** Facts about the load that only this kind of model has; for `explain()`. */
  readonly loadFacts?: Record<string, ExplainedValue>;
  /**
   * Renders and encodes a checked prompt; long texts are encoded off the main thread.
   *
   * @param work - absent where only the text and its length count
   * @throws ModelError if the model has no chat template
   * @throws OptionError if its chat template refuses the messages
   */
  encode(prompt: CheckedPrompt<Part>, work?: PromptWork): Promise<EncodedPrompt>;
}
