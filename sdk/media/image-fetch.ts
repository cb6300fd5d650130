import { abortReason } from "../core/abort.js";
import { DownloadError, OptionError } from "../core/errors.js";

const MOST_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export interface FetchLimits {
  maxBytes: number;
  timeoutMs: number;
  signal: AbortSignal | undefined;
  /** Name of the value in messages about the URL itself. */
  path: string;
}

/**
 * Fetches a small file from the web: bounded in size, time (to the last byte) and redirects.
 *
 * @throws OptionError for a URL with a password in it
 * @throws DownloadError for everything that goes wrong on the way; messages leave the query out, as it may hold a key
 */
export async function fetchBytes(url: URL, limits: FetchLimits): Promise<Uint8Array> {
  if (url.username !== "" || url.password !== "") {
    const expected = "a URL without user name and password";
    throw new OptionError(
      `${limits.path} must be ${expected}, received one of ${url.host} that has them. Fetch it yourself and pass the bytes.`,
      { path: limits.path, expected, received: showUrl(url) },
    );
  }
  const timeout = AbortSignal.timeout(limits.timeoutMs);
  const signal = limits.signal ? AbortSignal.any([limits.signal, timeout]) : timeout;
  try {
    const response = await follow(url, signal);
    return await readBody(response, url, limits.maxBytes);
  } catch (error) {
    if (limits.signal?.aborted) throw abortReason(limits.signal);
    if (error instanceof DownloadError) throw error;
    throw timeout.aborted
      ? failed(
          url,
          `no complete answer within ${limits.timeoutMs} ms. Fetch it yourself and pass its bytes`,
          undefined,
          error,
        )
      : failed(url, `${reasonOf(error)}. Check the address and the network`, undefined, error);
  }
}

/** A URL for messages: without query, which may hold a key. */
export function showUrl({ origin, pathname }: URL): string {
  const shown = origin + pathname;
  return shown.length > 160 ? `${shown.slice(0, 160)}…` : shown;
}

async function follow(start: URL, signal: AbortSignal): Promise<Response> {
  let url = start;
  for (let redirects = 0; ; redirects++) {
    const response = await fetch(url, { redirect: "manual", signal, headers: { accept: "image/*" } });
    if (response.ok) return response;
    await response.body?.cancel();
    const location = response.headers.get("location");
    if (!REDIRECTS.has(response.status) || location === null) {
      const text = response.statusText === "" ? "" : ` ${response.statusText}`;
      throw failed(start, `the server answered ${response.status}${text}. Check the address`, response.status);
    }
    if (redirects === MOST_REDIRECTS) {
      throw failed(start, `more than ${MOST_REDIRECTS} redirects. Pass the address at their end`, response.status);
    }
    const target = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
    if (target === undefined || !/^https?:$/.test(target.protocol)) {
      throw failed(start, "it redirects to what is no web address. Pass the image's own address", response.status);
    }
    url = target;
  }
}

async function readBody(response: Response, url: URL, maxBytes: number): Promise<Uint8Array> {
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
    throw failed(url, `it is larger than ${maxBytes} bytes. Pass a smaller image, or its bytes`, response.status);
  }
  return Buffer.concat(chunks, length);
}

function failed(url: URL, reason: string, status?: number, cause?: unknown): DownloadError {
  const shown = showUrl(url);
  return new DownloadError(`Cannot fetch the image ${shown}: ${reason}.`, { url: shown, status, cause });
}

/** fetch() says no more than "fetch failed"; what happened is in the cause. */
function reasonOf(error: unknown): string {
  const cause = (error as Error).cause as (Error & { code?: string; errors?: Error[] }) | undefined;
  const inner = cause?.errors?.[0] ?? cause ?? (error as Error);
  return inner.message || cause?.code || "the connection failed";
}
