import type Sharp from "sharp";
import { MediaError } from "../core/errors.js";

let loaded: Promise<typeof Sharp> | undefined;

/**
 * The image library, loaded on first use: who only chats need not have its native part.
 *
 * @throws MediaError saying how to install it
 */
export function loadSharp(): Promise<typeof Sharp> {
  return (loaded ??= load());
}

async function load(): Promise<typeof Sharp> {
  try {
    return (await import("sharp")).default;
  } catch (error) {
    loaded = undefined;
    throw new MediaError(
      `Images are read and written by the package sharp, which could not be loaded on ${process.platform}-${process.arch}: ` +
        "install it with its optional dependencies (npm install --include=optional sharp); a lock file made on another " +
        "platform can leave them out.",
      { cause: error },
    );
  }
}
