import type { CallSite } from "../core/call-site.js";
import type { JobOutcome } from "../core/job.js";
import { MetricsClock } from "../core/metrics.js";
import type { StreamControl } from "../core/stream.js";
import type { RgbImage } from "../media/rgb-image.js";
import { imageMetrics } from "./image-metrics.js";
import type { LoadedImageModel } from "./image-model.js";
import { encodeImagePrompt } from "./image-prompt.js";
import type { ImageResult, ImageStep } from "./image-result.js";
import { pictureSeeds, planPictures, type ImageCall } from "./image-settings.js";
import { PictureDecoder } from "./picture-decoder.js";
import { PictureJobs } from "./run-pictures.js";
import { StepFeed } from "./step-feed.js";

/** One checked order for pictures. */
export interface ImageOrder {
  prompt: string;
  call: ImageCall;
  callSite: CallSite;
  /** Nobody reads the steps; only the result counts. */
  resultOnly: boolean;
}

/**
 * Makes the pictures of one order: encodes the prompt, runs a native request for each, decodes their tokens. Settles only when
 * native work has ended. `stop` is followed between tokens and keeps what there is; `cancel` and `abort` end decoding, too.
 */
export async function generateImages(
  model: LoadedImageModel,
  order: ImageOrder,
  control: StreamControl<ImageStep>,
): Promise<ImageResult> {
  const { call, callSite } = order;
  const { imageTokens } = model.facts;
  const clock = new MetricsClock(model.loadMs);
  const seeds = pictureSeeds(call.values);
  const prompt = await clock.measureAsync("tokenize", () => encodeImagePrompt(model, order.prompt));
  const requests = planPictures(model, prompt, call.values, seeds);

  const decoder = new PictureDecoder(model.decoder, model.facts);
  const forgotten = new AbortController();
  control.onEnding((kind) => kind !== "stop" && forgotten.abort());
  const decodeAll = async (grids: readonly (readonly number[])[], signal: AbortSignal): Promise<RgbImage[]> => {
    const images: RgbImage[] = [];
    for (const tokens of grids) {
      // A picture without a token needs no inference, which would look at the signal.
      signal.throwIfAborted();
      images.push(await decoder.decode(tokens, { signal, callSite }));
    }
    return images;
  };
  const feed = new StepFeed({
    of: imageTokens,
    push: (step) => control.push(step),
    previewEvery: call.values.previewEvery,
    decode: decodeAll,
    onFailure: (error) => jobs?.fail(error),
  });

  let jobs: PictureJobs | undefined;
  let tokens: number[][] = seeds.map(() => []);
  let outcomes: JobOutcome[] = [];
  if (!control.ending) {
    clock.submitted();
    const running = new PictureJobs(model, requests, callSite, (made) => order.resultOnly || feed.advance(made));
    ({ tokens } = jobs = running);
    control.onEnding(() => {
      running.stop();
      void feed.end();
    });
    try {
      outcomes = await running.ended(imageTokens);
      await feed.settle();
    } finally {
      await feed.end();
    }
  }

  const pictures = await decodePictures(decodeAll, tokens, feed, forgotten.signal);
  const isCancelled = control.ending === "cancel";
  return {
    images: pictures.images,
    tokens,
    seeds,
    finishReason: isCancelled ? "cancelled" : "stop",
    complete: !isCancelled && tokens.every(({ length }) => length === imageTokens),
    metrics: imageMetrics(clock, tokens, outcomes, pictures.ms),
  };
}

/** The finished pictures and the time they took; none where the turn is forgotten. */
async function decodePictures(
  decodeAll: (grids: number[][], signal: AbortSignal) => Promise<RgbImage[]>,
  tokens: number[][],
  feed: StepFeed,
  forgotten: AbortSignal,
): Promise<{ images: RgbImage[]; ms: number }> {
  const started = performance.now();
  try {
    const decoding = decodeAll(tokens, forgotten);
    await feed.complete(decoding);
    return { images: await decoding, ms: performance.now() - started };
  } catch (error) {
    if (!forgotten.aborted) throw error;
    return { images: [], ms: performance.now() - started };
  }
}
