import { abortReason, throwIfAborted } from "./abort.js";
import { checkDevice } from "./devices.js";
import { OptionError } from "./errors.js";
import { getNative } from "./native.js";
import { eventsOf } from "./native-events.js";
import type { NativeAddon } from "./native-types.js";
import type { LoadProgressReporter } from "./progress.js";

/**
 * The addon, once the device is known to exist and to compute in what is asked for. Called before any file is touched: a wrong
 * device must not cost a download or a long read.
 *
 * @throws NativeError, DeviceError, OptionError, or the signal's reason
 */
export async function nativeForDevice(
  { device, properties }: { device: string; properties: Readonly<Record<string, unknown>> },
  signal: AbortSignal | undefined,
): Promise<NativeAddon> {
  throwIfAborted(signal);
  const native = getNative();
  // Listing starts the GPU and NPU plugins, which costs time and memory; the CPU is always there.
  if (device !== "CPU") checkDevice(device, await native.listDevices());
  else await checkPrecision(properties, native);
  throwIfAborted(signal);
  return native;
}

const PRECISION = "INFERENCE_PRECISION_HINT";

/** A CPU without bf16 is told by the plugin in terms of its own checks; f16 it takes and computes in f32. */
async function checkPrecision(properties: Readonly<Record<string, unknown>>, native: NativeAddon): Promise<void> {
  const wanted = properties[PRECISION];
  if (typeof wanted !== "string" || wanted.trim().toLowerCase() !== "bf16") return;
  const cpu = (await native.listDevices()).find(({ name }) => name === "CPU");
  if (!cpu || cpu.capabilities.includes("BF16")) return;
  throw new OptionError(
    `properties.${PRECISION} is "bf16", but this CPU (${cpu.fullName}) has no instructions for bf16. ` +
      "Leave the property out, or set it to f32.",
    { path: `properties.${PRECISION}`, expected: "f32 (this CPU has no bf16)", received: wanted },
  );
}

/**
 * Follows a load of the addon: its progress is reported, and the signal ends it. What was opened all the same is closed.
 *
 * @param start - begins the load
 * @throws what the load, a progress listener or the signal throws
 */
export async function openNative<Opened extends { close(): Promise<void> }>(
  native: NativeAddon,
  start: () => { load: number; promise: Promise<Opened> },
  progress: LoadProgressReporter,
  signal: AbortSignal,
): Promise<Opened> {
  const events = eventsOf(native);
  const { load, promise } = start();
  const onAbort = (): void => native.abortLoad(load);
  signal.addEventListener("abort", onAbort, { once: true });
  events.onLoad(load, (event) => progress.report(event.stage, event.fraction));
  try {
    const opened = await promise;
    try {
      // The load may have been finished already when the signal fired.
      throwIfAborted(signal);
      progress.assertListenerSound();
    } catch (error) {
      await opened.close();
      throw error;
    }
    return opened;
  } catch (error) {
    throw signal.aborted ? abortReason(signal) : error;
  } finally {
    events.offLoad(load);
    signal.removeEventListener("abort", onAbort);
  }
}

/**
 * Runs two parts of a load side by side, one of them native. If one fails the other is ended, and what it made is given back
 * before the error is told.
 *
 * @param open - begins the native part; ends when its signal does
 * @param read - the part done here meanwhile
 */
export async function loadSideBySide<Opened, Read>(
  signal: AbortSignal | undefined,
  open: { start: (ends: AbortSignal) => Promise<Opened>; undo: (opened: Opened) => Promise<void> },
  read: { start: () => Promise<Read>; undo: (read: Read) => Promise<void> },
): Promise<SideBySide<Opened, Read>> {
  const failure = new AbortController();
  const opening = open.start(signal ? AbortSignal.any([signal, failure.signal]) : failure.signal);
  const reading = read.start();
  const undo = async (error: unknown): Promise<void> => {
    failure.abort(error);
    await Promise.allSettled([opening.then(open.undo), reading.then(read.undo)]);
  };
  try {
    const [opened, readParts] = await Promise.all([opening, reading]);
    return { opened, read: readParts, undo };
  } catch (error) {
    await undo(error);
    throw error;
  }
}

/** Both parts, and a way to give them back if a later step fails. */
export interface SideBySide<Opened, Read> {
  opened: Opened;
  read: Read;
  undo(error: unknown): Promise<void>;
}
