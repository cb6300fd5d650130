import { abortReason } from "../core/abort.js";
import { DownloadError, OptionError, PergolaError } from "../core/errors.js";
import type { ByteSource } from "./byte-reader.js";
import { streamSource, type MediaKind } from "./byte-sources.js";

const MOST_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

const WORDS = {
  audio: { the: "the audio", own: "the audio file's", other: "Fetch it yourself and pass its bytes" },
  image: { the: "the image", own: "the image's", other: "Pass a smaller image, or its bytes" },
};

/** How something is fetched from the web. */
export interface FetchRequest {
  /** What it should be, for messages. */
  kind: MediaKind;
  timeoutMs: number;
  signal: AbortSignal | undefined;
  /** Name of the value in messages about the URL itself. */
  path: string;
}

/**
 * Opens a file on the web, whose bytes come as they are read; {@link FetchRequest.timeoutMs} is the time for the answer's beginning.
 *
 * @throws as {@link fetchBytes}; what goes wrong later is thrown by `next()`
 */
export async function fetchSource(url: URL, request: FetchRequest): Promise<ByteSource> {
  const { kind, signal } = request;
  checkCredentials(url, request.path);
  const ends = new AbortController();
  const both = signal ? AbortSignal.any([signal, ends.signal]) : ends.signal;
  const late = setTimeout(() => ends.abort(), request.timeoutMs);
  let response: Response;
  try {
    response = await follow(url, kind, both);
  } catch (error) {
    throw failureOf(error, url, request, ends.signal.aborted);
  } finally {
    clearTimeout(late);
  }
  const length = response.headers.has("content-encoding") ? null : response.headers.get("content-length");
  const body = streamSource((response.body ?? []) as AsyncIterable<unknown>, showUrl(url), signal, request.path);
  return {
    name: body.name,
    size: length === null ? undefined : Number(length),
    async next() {
      try {
        return await body.next();
      } catch (error) {
        // The stream's own error is the connection's.
        throw PergolaError.isInstance(error) ? failureOf((error as Error).cause ?? error, url, request, false) : error;
      }
    },
    async close() {
      await body.close();
      ends.abort();
    },
  };
}

/**
 * Fetches a small file from the web: bounded in size, time (to the last byte) and redirects.
 *
 * @throws OptionError for a URL with a password in it
 * @throws DownloadError for everything that goes wrong on the way; messages leave the query out, as it may hold a key
 */
export async function fetchBytes(url: URL, limits: FetchRequest & { maxBytes: number }): Promise<Uint8Array> {
  checkCredentials(url, limits.path);
  const timeout = AbortSignal.timeout(limits.timeoutMs);
  const signal = limits.signal ? AbortSignal.any([limits.signal, timeout]) : timeout;
  try {
    const response = await follow(url, limits.kind, signal);
    return await readBody(response, url, limits);
  } catch (error) {
    throw failureOf(error, url, limits, timeout.aborted);
  }
}

function checkCredentials(url: URL, path: string): void {
  if (url.username !== "" || url.password !== "") {
    const expected = "a URL without user name and password";
    throw new OptionError(
      `${path} must be ${expected}, received one of ${url.host} that has them. Fetch it yourself and pass the bytes.`,
      { path, expected, received: showUrl(url) },
    );
  }
}

/** What is thrown in place of an error of `fetch`: the caller's own reason, or a {@link DownloadError}. */
function failureOf(error: unknown, url: URL, { kind, signal, timeoutMs }: FetchRequest, isLate: boolean): unknown {
  if (signal?.aborted) return abortReason(signal);
  if (error instanceof DownloadError) return error;
  const reason = isLate
    ? `no complete answer within ${timeoutMs} ms. Fetch it yourself and pass its bytes`
    : `${reasonOf(error)}. Check the address and the network`;
  return failed(kind, url, reason, undefined, error);
}

/** A URL for messages: without query, which may hold a key. */
export function showUrl({ origin, pathname }: URL): string {
  const shown = origin + pathname;
  return shown.length > 160 ? `${shown.slice(0, 160)}…` : shown;
}

async function follow(start: URL, kind: MediaKind, signal: AbortSignal): Promise<Response> {
  let url = start;
  for (let redirects = 0; ; redirects++) {
    const response = await fetch(url, { redirect: "manual", signal, headers: { accept: `${kind}/*` } });
    if (response.ok) return response;
    await response.body?.cancel();
    const location = response.headers.get("location");
    if (!REDIRECTS.has(response.status) || location === null) {
      const text = response.statusText === "" ? "" : ` ${response.statusText}`;
      throw failed(kind, start, `the server answered ${response.status}${text}. Check the address`, response.status);
    }
    if (redirects === MOST_REDIRECTS) {
      throw failed(
        kind,
        start,
        `more than ${MOST_REDIRECTS} redirects. Pass the address at their end`,
        response.status,
      );
    }
    const target = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
    if (target === undefined || !/^https?:$/.test(target.protocol)) {
      throw failed(
        kind,
        start,
        `it redirects to what is no web address. Pass ${WORDS[kind].own} own address`,
        response.status,
      );
    }
    url = target;
  }
}

async function readBody(
  response: Response,
  url: URL,
  { kind, maxBytes }: { kind: MediaKind; maxBytes: number },
): Promise<Uint8Array> {
  const announced = Number(response.headers.get("content-length") ?? 0);
  const chunks: Uint8Array[] = [];
  let length = announced;
  if (length <= maxBytes) {
    length = 0;
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      length += chunk.length;
      if (length > maxBytes) break; // which cancels the rest
      chunks.push(chunk);
    }
  } else {
    await response.body?.cancel();
  }
  if (length > maxBytes) {
    throw failed(kind, url, `it is larger than ${maxBytes} bytes. ${WORDS[kind].other}`, response.status);
  }
  return Buffer.concat(chunks, length);
}

function failed(kind: MediaKind, url: URL, reason: string, status?: number, cause?: unknown): DownloadError {
  const shown = showUrl(url);
  return new DownloadError(`Cannot fetch ${WORDS[kind].the} ${shown}: ${reason}.`, { url: shown, status, cause });
}

/** fetch() says no more than "fetch failed"; what happened is in the cause. */
function reasonOf(error: unknown): string {
  const cause = (error as Error).cause as (Error & { code?: string; errors?: Error[] }) | undefined;
  const inner = cause?.errors?.[0] ?? cause ?? (error as Error);
  return inner.message || cause?.code || "the connection failed";
}
