import { invalidLocation, locateMedia, type LocationWords } from "./media-location.js";

const WORDS: LocationWords = {
  path: "audio",
  expected: "the path of an audio file (a string, or a file: or data: URL)",
  dataExample: "data:audio/wav;base64,…",
};

/** Where the bytes of an audio file are, as told by a string or a URL. */
export type AudioLocation = { path: string } | { bytes: Uint8Array; name: string };

/**
 * Understands paths (relative ones, `~`), `file:` URLs and `data:` URLs.
 *
 * @throws OptionError for URLs that would have to be fetched, and for what is not a path
 */
export function locateAudio(input: string | URL): AudioLocation {
  const located = locateMedia(input, WORDS);
  if (!("url" in located)) return located;
  throw invalidLocation(
    input,
    WORDS,
    " Audio is not fetched from URLs; pass what fetch gives: (await fetch(url)).body.",
  );
}
