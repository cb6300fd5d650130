import { throwIfAborted } from "./abort.js";
import { checkDevice } from "./devices.js";
import { getNative } from "./native.js";
import { eventsOf } from "./native-events.js";
import { runNativeJob } from "./native-job.js";
import type { NativeAddon, NativeJob } from "./native-types.js";
import type { LoadProgressReporter } from "./progress.js";

/**
 * The addon, once the devices are known to exist. Called before any file is touched: a wrong device must not cost a download or a
 * long read.
 *
 * @throws NativeError, DeviceError, or the signal's reason
 */
export async function nativeForDevices(
  devices: readonly (string | undefined)[],
  signal: AbortSignal | undefined,
): Promise<NativeAddon> {
  throwIfAborted(signal);
  const native = getNative();
  // Listing starts the GPU and NPU plugins, which costs time and memory; the CPU is always there.
  const uncertain = devices.filter((device) => device !== undefined && device !== "CPU");
  if (uncertain.length > 0) {
    const known = await native.listDevices();
    for (const device of uncertain) checkDevice(device!, known);
  }
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
