import { throwIfAborted } from "./abort.js";
import { checkDevice } from "./devices.js";
import { getNative } from "./native.js";
import { eventsOf } from "./native-events.js";
import { runNativeJob } from "./native-job.js";
import type { NativeAddon, NativeJob } from "./native-types.js";
import type { LoadProgressReporter } from "./progress.js";

/**
 * The addon, once the device is known to exist. Called before any file is touched: a wrong device must not cost a download or a
 * long read.
 *
 * @throws NativeError, DeviceError, or the signal's reason
 */
export async function nativeForDevice(device: string, signal: AbortSignal | undefined): Promise<NativeAddon> {
  throwIfAborted(signal);
  const native = getNative();
  // Listing starts the GPU and NPU plugins, which costs time and memory; the CPU is always there.
  if (device !== "CPU") checkDevice(device, await native.listDevices());
  throwIfAborted(signal);
  return native;
}

/**
 * Follows a load of the addon: its progress is reported, and the signal ends it. What was opened all the same is closed.
 *
 * @param start - begins the load
 * @throws what the load, a progress listener or the signal throws
 */
export async function openNative<Opened extends { close(): Promise<void> }>(
  native: NativeAddon,
  start: () => NativeJob<Opened>,
  progress: LoadProgressReporter,
  signal: AbortSignal,
): Promise<Opened> {
  const events = eventsOf(native);
  let load: number | undefined;
  const startFollowed = (): NativeJob<Opened> => {
    const started = start();
    load = started.job;
    events.onLoad(load, (event) => progress.report(event.stage, event.fraction));
    return started;
  };
  try {
    const opened = await runNativeJob(startFollowed, signal, (late) => late.close());
    try {
      progress.assertListenerSound();
    } catch (error) {
      await opened.close();
      throw error;
    }
    return opened;
  } finally {
    if (load !== undefined) events.offLoad(load);
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
