import type { ListenElsewhere } from "./language-finder.js";
import { speechIn, type AudioWindow, type RunContext } from "./run-context.js";
import { planWindows } from "./speech/plan-windows.js";
import { FRAMES_PER_SECOND, WINDOW_FRAMES } from "./whisper-facts.js";

/** Less speech, in seconds, says little about its language. */
const LEAST_SPEECH = 0.5;

/** Listens where there is most speech from a mel frame on, then where there is next most. Each place once. */
export function listenElsewhere(context: RunContext, from: number): ListenElsewhere {
  let places: AudioWindow[] | undefined;
  return async () => {
    const { engine, audio } = context;
    places ??= speechPlaces(context, from);
    const place = places.shift();
    if (!place || engine.ending) return undefined;
    const [handle] = await engine.encode([{ mel: audio.mel, start: place.seek, count: place.size }]);
    if (handle === undefined) return undefined;
    return { handle, speech: speechIn(context, place), release: () => engine.release([handle]) };
  };
}

function speechPlaces(context: RunContext, from: number): AudioWindow[] {
  const { activity, frames } = context.audio;
  return planWindows(activity)
    .map(({ start, end }) => {
      const seek = Math.max(from, Math.round(start * FRAMES_PER_SECOND));
      const size = Math.min(WINDOW_FRAMES, Math.min(frames, Math.round(end * FRAMES_PER_SECOND)) - seek);
      return { seek, size };
    })
    .filter((place) => place.size > 0)
    .map((place) => ({ place, speech: speechIn(context, place) }))
    .filter(({ speech }) => speech >= LEAST_SPEECH)
    .sort((a, b) => b.speech - a.speech)
    .map(({ place }) => place);
}
