import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { OptionError } from "../core/errors.js";
import { showValue } from "../core/validate.js";

/** Where the bytes of a media file are, as told by a string or a URL. */
export type MediaLocation = { path: string } | { bytes: Uint8Array; name: string } | { url: URL };

/** How the caller speaks of the value. */
export interface LocationWords {
  /** Path of the option, for example `audio` or `messages[0].content[1].image`. */
  path: string;
  expected: string;
  /** An example of a `data:` URL. */
  dataExample: string;
}

/**
 * Understands paths (relative ones, `~`), `file:` URLs, base64 `data:` URLs, and web addresses.
 *
 * @throws OptionError for what is none of them
 */
export function locateMedia(input: string | URL, words: LocationWords): MediaLocation {
  const text = typeof input === "string" ? input : input.href;
  const invalid = (advice: string, cause?: unknown) => invalidLocation(input, words, advice, cause);
  if (text.trim() === "") throw invalid("");
  if (/^data:/i.test(text)) return { bytes: dataUrlBytes(text, words, invalid), name: "the data: URL" };
  if (text.includes("\0")) throw invalid(" A path cannot hold a NUL character.");
  if (/^file:/i.test(text)) {
    try {
      return { path: fileURLToPath(text) };
    } catch (error) {
      throw invalid(` ${(error as Error).message}.`, error);
    }
  }
  if (/^https?:\/\//i.test(text)) {
    if (!URL.canParse(text)) throw invalid(" It is not a valid URL.");
    return { url: new URL(text) };
  }
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(text) || /^blob:/i.test(text)) {
    throw invalid(" URLs of this kind are not read; pass the bytes.");
  }
  if (text === "~" || text.startsWith("~/")) return { path: join(homedir(), text.slice(1)) };
  return { path: resolve(text) };
}

/** The error for a string or URL that is refused. */
function invalidLocation(
  input: string | URL,
  { path, expected }: LocationWords,
  advice: string,
  cause?: unknown,
): OptionError {
  const shown = showValue(typeof input === "string" ? input : input.href);
  return new OptionError(`${path} must be ${expected}, received ${shown}.${advice}`, {
    path,
    expected,
    received: input,
    cause,
  });
}

function dataUrlBytes(
  url: string,
  { dataExample }: LocationWords,
  invalid: (advice: string, cause?: unknown) => OptionError,
): Uint8Array {
  const comma = url.indexOf(",");
  if (comma < 0) throw invalid(" A data: URL has a comma before its data.");
  let data = url.slice(comma + 1);
  if (!/;\s*base64\s*$/i.test(url.slice(0, comma))) {
    throw invalid(` Of data: URLs only those in base64 are read: ${dataExample}.`);
  }
  if (data.includes("%")) {
    try {
      data = decodeURIComponent(data);
    } catch (error) {
      throw invalid(" Its data has a broken % sequence.", error);
    }
  }
  if (!/^[A-Za-z0-9+/_=\s-]*$/.test(data)) throw invalid(" Its data is not base64.");
  return Buffer.from(data, "base64");
}
