import { types } from "node:util";
import { OptionError } from "../core/errors.js";

/**
 * The bytes of a buffer, or a view as it is.
 *
 * @param path - name of the value in messages
 * @throws OptionError for memory that was handed to another thread: it holds nothing any more
 */
export function attached<Memory extends ArrayBufferView | ArrayBufferLike>(
  memory: Memory,
  path: string,
  expected: string,
): Memory extends ArrayBufferView ? Memory : Uint8Array {
  const isBuffer = types.isAnyArrayBuffer(memory);
  const buffer = isBuffer ? memory : memory.buffer;
  try {
    const bytes = new Uint8Array(buffer);
    return (isBuffer ? bytes : memory) as ReturnType<typeof attached<Memory>>;
  } catch (cause) {
    const advice = "Pass a copy before it is handed to another thread (postMessage, structuredClone)";
    throw new OptionError(`${path} is an ArrayBuffer that was transferred, which holds nothing any more. ${advice}.`, {
      ...{ path, expected, received: memory, cause },
    });
  }
}
