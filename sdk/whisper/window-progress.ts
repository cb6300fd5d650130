import type { RunContext } from "./run-context.js";
import { FRAMES_PER_SECOND } from "./whisper-facts.js";

/** How often a caller is told, in milliseconds. */
const EVERY_MS = 100;
/** Steps of the decoder after which two thirds of a usual text are written. */
const USUAL_STEPS = 80;
/** A window counts as done only when its text does. */
const MOST = 0.95;

/**
 * Tells on the way how far the decoder is in some windows, from mel frame `from` to `to`: an estimate by its steps, as nobody knows how long
 * a text will be.
 *
 * @throws what the listener threw, once the work has ended
 */
export async function tellOnTheWay<Value>(
  { engine, onSeconds }: RunContext,
  [from, to]: readonly [from: number, to: number],
  work: () => Promise<Value>,
): Promise<Value> {
  const before = engine.steps;
  let failure = undefined as { error: unknown } | undefined;
  const timer = setInterval(() => {
    const share = MOST * (1 - Math.exp((before - engine.steps) / USUAL_STEPS));
    try {
      if (!failure && !engine.ending) onSeconds((from + share * (to - from)) / FRAMES_PER_SECOND);
    } catch (error) {
      failure = { error };
    }
  }, EVERY_MS);
  const value = await work().finally(() => clearInterval(timer));
  if (failure) throw failure.error;
  return value;
}
