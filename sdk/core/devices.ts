import { DeviceError, fromNative } from "./errors.js";
import { getNative } from "./native.js";
import type { NativeDevice } from "./native-types.js";

/** A device that models can run on. */
export interface Device {
  /** Name for the `device` option, for example `CPU` or `GPU.0`. */
  name: string;
  /** The product, for example `Intel(R) Core(TM) Ultra 7`. */
  fullName: string;
  /** What the device computes in and can do: `FP32`, `INT8`, `BF16`, `EXPORT_IMPORT`, ... */
  capabilities: string[];
  /** Memory of the device in bytes, where it reports it. */
  memoryBytes?: number;
}

/** Devices that choose among others; they take a list after a colon. */
const VIRTUAL_DEVICES = new Set(["AUTO", "HETERO", "MULTI", "BATCH"]);

/**
 * Lists the devices of this machine.
 *
 * @throws NativeError if the native core cannot be loaded
 */
export async function listDevices(): Promise<Device[]> {
  const callSite = new Error();
  try {
    return await getNative().listDevices();
  } catch (error) {
    throw fromNative(error, callSite);
  }
}

/**
 * Checks a `device` option: a device (`CPU`, `GPU`, `GPU.1`, `NPU`), `AUTO`, or a list (`AUTO:GPU,CPU`, `HETERO:GPU,CPU`).
 *
 * @param available - what {@link listDevices} gave
 * @throws DeviceError listing what exists
 */
export function checkDevice(device: string, available: readonly NativeDevice[]): void {
  const names = available.map(({ name }) => name);
  const [head, list] = splitOnce(device, ":");
  if (VIRTUAL_DEVICES.has(head)) {
    if (list === undefined) {
      if (head === "AUTO" || head === "MULTI") return;
      throw unknownDevice(
        device,
        `${head} needs a list of devices, for example ${head}:${names.join(",") || "CPU"}`,
        names,
      );
    }
    for (const entry of list.split(",")) {
      // AUTO takes "-NPU" for "not this one"; MULTI and BATCH take a count in brackets.
      const name = entry.replace(/^-/, "").replace(/\(\d+\)$/, "");
      if (!exists(name, names)) throw unknownDevice(device, `there is no device ${JSON.stringify(name)} here`, names);
    }
    return;
  }
  if (list !== undefined || !exists(device, names)) throw unknownDevice(device, "there is no such device here", names);
}

/** `GPU` names the first of `GPU.0`, `GPU.1`; and where there is only one it is listed as `GPU` but may be called `GPU.0`. */
function exists(name: string, names: readonly string[]): boolean {
  return names.some(
    (known) => known === name || known.startsWith(`${name}.`) || (!known.includes(".") && name === `${known}.0`),
  );
}

function unknownDevice(device: string, why: string, available: string[]): DeviceError {
  const upper = device.toUpperCase();
  const meant = upper !== device && (exists(upper, available) || VIRTUAL_DEVICES.has(upper.split(":")[0]!));
  const hint = meant ? ` Did you mean ${JSON.stringify(upper)}?` : "";
  const listed = available.length > 0 ? available.join(", ") : "none";
  return new DeviceError(
    `Device ${JSON.stringify(device)} cannot be used: ${why}.${hint} ` +
      `Available: ${listed}; also AUTO, and lists such as AUTO:… or HETERO:….`,
    { device, available },
  );
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
