import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { OptionError } from "../core/errors.js";
import { showValue } from "../core/validate.js";

const EXPECTED = "the path of an audio file (a string, or a file: or data: URL)";

/** Where the bytes of an audio file are, as told by a string or a URL. */
export type AudioLocation = { path: string } | { bytes: Uint8Array; name: string };

/**
 * Understands paths (relative ones, `~`), `file:` URLs and `data:` URLs.
 *
 * @throws OptionError for URLs that would have to be fetched, and for what is not a path
 */
export function locateAudio(input: string | URL): AudioLocation {
  const text = typeof input === "string" ? input : input.href;
  if (text.trim() === "") throw invalid(input, "");
  if (/^data:/i.test(text)) return { bytes: dataUrlBytes(text, input), name: "the data: URL" };
  if (text.includes("\0")) throw invalid(input, " A path cannot hold a NUL character.");
  if (/^file:/i.test(text)) {
    try {
      return { path: fileURLToPath(text) };
    } catch (error) {
      throw invalid(input, ` ${(error as Error).message}.`, error);
    }
  }
  if (/^https?:\/\//i.test(text)) {
    throw invalid(input, " Audio is not fetched from URLs; pass what fetch gives: (await fetch(url)).body.");
  }
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(text) || /^blob:/i.test(text)) {
    throw invalid(input, " URLs of this kind are not read; pass the bytes, or a stream of them.");
  }
  if (text === "~" || text.startsWith("~/")) return { path: join(homedir(), text.slice(1)) };
  return { path: resolve(text) };
}

function dataUrlBytes(url: string, input: string | URL): Uint8Array {
  const comma = url.indexOf(",");
  if (comma < 0) throw invalid(input, " A data: URL has a comma before its data.");
  const data = url.slice(comma + 1);
  if (!/;\s*base64\s*$/i.test(url.slice(0, comma))) {
    throw invalid(input, " Of data: URLs only those in base64 are read: data:audio/wav;base64,….");
  }
  const decoded = data.includes("%") ? unescape(data, input) : data;
  if (!/^[A-Za-z0-9+/_=\s-]*$/.test(decoded)) throw invalid(input, " Its data is not base64.");
  return Buffer.from(decoded, "base64");
}

function unescape(data: string, input: string | URL): string {
  try {
    return decodeURIComponent(data);
  } catch (error) {
    throw invalid(input, " Its data has a broken % sequence.", error);
  }
}

function invalid(input: string | URL, advice: string, cause?: unknown): OptionError {
  const shown = showValue(typeof input === "string" ? input : input.href);
  return new OptionError(`audio must be ${EXPECTED}, received ${shown}.${advice}`, {
    path: "audio",
    expected: EXPECTED,
    received: input,
    cause,
  });
}
