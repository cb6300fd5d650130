import { throwIfAborted } from "./abort.js";
import { checkDevice } from "./devices.js";
import { OptionError } from "./errors.js";
import { getNative } from "./native.js";
import { eventsOf } from "./native-events.js";
import { runNativeJob } from "./native-job.js";
import type { NativeAddon, NativeJob } from "./native-types.js";
import type { LoadProgressReporter } from "./progress.js";

/**
 * The addon, once the devices are known to exist and to compute in what is asked for. Called before any file is touched: a wrong
 * device must not cost a download or a long read.
 *
 * @throws NativeError, DeviceError, OptionError, or the signal's reason
 */
export async function nativeForDevices(
  { device, properties }: { device: string; properties: Readonly<Record<string, unknown>> },
  furtherDevices: readonly (string | undefined)[],
  signal: AbortSignal | undefined,
): Promise<NativeAddon> {
  throwIfAborted(signal);
  const native = getNative();
  // Listing starts the GPU and NPU plugins, which costs time and memory; the CPU is always there.
  const uncertain = [device, ...furtherDevices].filter((name) => name !== undefined && name !== "CPU");
  if (uncertain.length > 0) {
    const known = await native.listDevices();
    for (const name of uncertain) checkDevice(name!, known);
  }
  if (device === "CPU") await checkPrecision(properties, native);
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
 * @throws what the load or the signal throws
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
    return await runNativeJob(startFollowed, signal, (late) => late.close());
  } finally {
    if (load !== undefined) events.offLoad(load);
  }
}
