import type { JobOutcome } from "../core/job.js";
import type { MetricsClock } from "../core/metrics.js";
import type { NativeRequestTimings } from "../core/native-types.js";
import type { ImageMetrics } from "./image-result.js";

/**
 * Times of a call whose pictures were computed side by side: the slowest one counts.
 *
 * @param picturesMs - decoding all pictures to pixels
 */
export function imageMetrics(
  clock: MetricsClock,
  tokens: readonly (readonly number[])[],
  outcomes: readonly JobOutcome[],
  picturesMs: number,
): ImageMetrics {
  const steps = Math.max(...tokens.map(({ length }) => length));
  const total = tokens.reduce((sum, { length }) => sum + length, 0);
  const metrics = clock.finish(steps, mergeTimings(outcomes));
  // As many tokens at each step as pictures, unless some had to wait.
  const { decode } = metrics.stages;
  return {
    ...metrics,
    tokensPerSecond: decode > 0 ? (Math.max(0, total - tokens.length) / decode) * 1000 : 0,
    stages: { ...metrics.stages, pictures: picturesMs },
  };
}

function mergeTimings(outcomes: readonly JobOutcome[]): NativeRequestTimings | undefined {
  if (outcomes.length === 0) return undefined;
  const all = outcomes.map(({ timings }) => timings);
  const most = (name: keyof NativeRequestTimings): number => Math.max(...all.map((timings) => timings[name]));
  const first = all.filter(({ firstTokenMs }) => firstTokenMs > 0).map(({ firstTokenMs }) => firstTokenMs);
  const firstTokenMs = first.length > 0 ? Math.min(...first) : 0;
  // From the first token of any picture to the last of all.
  const lastMs = Math.max(
    ...all.map((timings) => (timings.firstTokenMs > 0 ? timings.firstTokenMs + timings.decodeMs : 0)),
  );
  return {
    queueMs: Math.min(...all.map(({ queueMs }) => queueMs)),
    prefillMs: most("prefillMs"),
    decodeMs: Math.max(0, lastMs - firstTokenMs),
    firstTokenMs,
    preemptions: all.reduce((sum, { preemptions }) => sum + preemptions, 0),
  };
}
