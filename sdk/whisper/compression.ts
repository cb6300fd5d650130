import { deflateSync } from "node:zlib";

/**
 * Bytes of a text divided by its size under zlib: above 2.4 it repeats itself (openai/whisper's `compression_ratio`; Node's
 * zlib gives up to 3 bytes more or less than the original).
 */
export function compressionRatio(text: string): number {
  const bytes = Buffer.from(text, "utf8");
  return bytes.length / deflateSync(bytes).length;
}
