import type { FinishReason } from "../core/finish-reason.js";
import type { Metrics, StageTimes } from "../core/metrics.js";
import type { RgbImage } from "../media/rgb-image.js";

/** Pictures made of a prompt; `images`, `tokens` and `seeds` have one entry for each, in the same order. */
export interface ImageResult {
  /** Empty after `cancel()`. */
  images: RgbImage[];
  /** The image tokens of each picture, rows from the top; fewer than a whole picture has where it was ended early. */
  tokens: number[][];
  /** Seed of each picture: the first one's, and one more for each that follows. */
  seeds: number[];
  /** `stop`: all tokens were made, or `stop()` or `break` ended it ({@link complete} tells which); `cancelled`: no picture was decoded. */
  finishReason: FinishReason;
  /** Every token of every picture was made; otherwise the rows that are missing are filled up from the last ones above. */
  complete: boolean;
  metrics: ImageMetrics;
}

/** How far the making of pictures has come. */
export interface ImageStep {
  /** Tokens made of each picture (of several: the mean, rounded down); never goes back. */
  token: number;
  /** Tokens of a whole picture. */
  of: number;
  /** With `previewEvery`: the pictures as far as they are made; those of the last step are the finished ones. */
  previews?: RgbImage[];
  /** Tokens that the previews show. Below `token` where decoding them took a while: the making goes on meanwhile. */
  previewToken?: number;
}

/** Where the time went, in milliseconds. */
export interface ImageStageTimes extends StageTimes {
  /** Decoding the tokens of all pictures to pixels, previews not counted. */
  pictures: number;
}

/** Times of a call. `ttftMs` is the time to the first image token; `tpotMs` that of one token of all pictures together. */
export interface ImageMetrics extends Metrics {
  /** Image tokens a second, over all pictures. */
  tokensPerSecond: number;
  stages: ImageStageTimes;
}
