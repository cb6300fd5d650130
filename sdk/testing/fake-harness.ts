import { afterEach, beforeEach, expect } from "vitest";
import { setNativeForTesting } from "../core/native.js";

/**
 * For a test file: what `load` opens is disposed after each test, and no test may leave an unhandled rejection behind.
 *
 * @param disposeOf - gives back what was opened
 */
export function useFakes<Parts extends unknown[], Fake>(
  load: (...parts: Parts) => Promise<Fake>,
  disposeOf: (fake: Fake) => Promise<void>,
): (...parts: Parts) => Promise<Fake> {
  const opened: Fake[] = [];
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  beforeEach(() => void process.on("unhandledRejection", note));
  afterEach(async () => {
    for (const fake of opened.splice(0)) await disposeOf(fake);
    // Node reports unhandled rejections after the microtasks of a turn.
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off("unhandledRejection", note);
    setNativeForTesting(undefined);
    expect(unhandled.splice(0)).toEqual([]);
  });
  return async (...parts) => {
    const fake = await load(...parts);
    opened.push(fake);
    return fake;
  };
}

/** Lets the event loop turn. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** What work throws or rejects with. */
export async function failureOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
