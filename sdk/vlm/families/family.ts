import type { NativePositions, NativeTensor } from "../../core/native-types.js";
import type { RgbImage } from "../../media/rgb-image.js";
import type { VisionModelSource } from "../../models/vision-model.js";
import type { TemplateMessage } from "../../text/messages.js";
import type { Tokenizer } from "../../text/tokenizer.js";

/**
 * A kind of vision-language model: what it makes of pictures, and how they stand in its prompts. Everything else (files, chat
 * template, generation, caches, chats) is the pipeline's, which knows families by this interface only. To add one: a file that
 * exports a `VisionFamily`, and its name in `registry.ts` and `models/inspect-model.ts`.
 */
export interface VisionFamily {
  /** For messages: `LLaVA 1.5`. */
  readonly name: string;
  /** `model_type` of the configurations it understands. */
  readonly modelTypes: readonly string[];
  /** Graphs of the vision part, by file name without ending; the first one is named where features are wrong. */
  readonly graphs: readonly [string, ...string[]];
  /** Further graphs that a folder must have, for the language model. */
  readonly needs?: readonly string[];
  /**
   * Reads what the configuration says.
   *
   * @throws ModelError naming the file whose content is impossible
   * @throws UnsupportedError for variants that would be computed wrongly
   */
  open(source: VisionModelSource, tokenizer: Tokenizer): OpenedFamily;
}

/** A family, set up for one model. */
export interface OpenedFamily {
  /** What the chat template prints for a picture. */
  readonly placeholder: string;
  /** The token in whose places rows of features go. */
  readonly imageToken: { readonly text: string; readonly id: number };
  /** Further spellings that only the template and {@link ImageLayout.text} may use. */
  readonly spellings?: readonly string[];
  /** Tokens that end an answer besides those of the configuration and the tokenizer, as they are spelled. */
  readonly stopTokens?: readonly string[];
  /** The family's own chat template, for folders that bring none. */
  readonly chatTemplate?: string | undefined;
  /** The prompt begins with BOS even where the tokenizer's files do not ask for it. */
  readonly alwaysBos?: boolean;
  /** Changes whenever pictures are prepared in another way; part of the key of their features. */
  readonly key: string;

  /** What stands in front of a rendered conversation, for example a default system text. */
  prefix?(messages: readonly TemplateMessage[]): string;
  /**
   * Brings a picture into the form that the encoder takes.
   *
   * @throws MediaError for a picture that the family cannot take
   */
  prepare(image: RgbImage): Promise<PreparedImage>;
  /** Runs the encoder. */
  encode(image: PreparedImage, graphs: VisionGraphs): Promise<ImageFeatures>;
  /**
   * Positions of a whole prompt, where they are not 0, 1, 2, ...
   *
   * @param starts - index in `ids` of each run of image tokens, in order
   * @param layouts - of the pictures, in order
   */
  positions?(ids: readonly number[], starts: readonly number[], layouts: readonly ImageLayout[]): NativePositions;
}

/** How one picture stands in a prompt; small, and kept as long as its features. */
export interface ImageLayout {
  /**
   * What takes the place of the placeholder: any text, with the image token once for each run of rows.
   *
   * @param index - of the picture in the conversation, from 0
   */
  text(index: number): string;
  /** Rows in each run, as many runs as `text` has image tokens. */
  readonly runs: readonly number[];
  /** Rows and columns of merged patches, for positions. */
  readonly grid?: readonly [rows: number, columns: number];
}

/** A picture ready for the encoder. */
export interface PreparedImage {
  readonly layout: ImageLayout;
  readonly tensors: readonly NativeTensor[];
}

/** What the encoder made of a picture. */
export interface ImageFeatures {
  /** A row for each token of the layout, `[tokens, hidden]`. */
  readonly rows: Float32Array;
}

/** The graphs of a family's vision part. */
export interface VisionGraphs {
  /** Dimensions of an input; -1 = dynamic. @param port - index */
  inputShape(graph: string, port: number): readonly number[];
  /** Runs a graph once; ended by the call's signal. @returns a tensor for each output */
  run(graph: string, inputs: readonly NativeTensor[]): Promise<NativeTensor[]>;
}
