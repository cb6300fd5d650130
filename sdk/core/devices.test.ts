import { afterEach, describe, expect, it } from "vitest";
import { FakeNative } from "../testing/fake-native.js";
import { checkDevice, listDevices } from "./devices.js";
import { DeviceError } from "./errors.js";
import { setNativeForTesting } from "./native.js";

const device = (name: string) => ({ name, fullName: name, capabilities: [] });
const HERE = [device("CPU"), device("GPU.0"), device("GPU.1")];

afterEach(() => setNativeForTesting(undefined));

describe("checkDevice", () => {
  it.each(["CPU", "CPU.0", "GPU", "GPU.1", "AUTO", "AUTO:GPU,CPU", "AUTO:-GPU.1", "HETERO:GPU.0,CPU", "MULTI:CPU(2)"])(
    "accepts %s",
    (name) => checkDevice(name, HERE),
  );

  it.each(["NPU", "GPU.2", "TPU", "HETERO", "HETERO:NPU,CPU", "AUTO:", "CPU:GPU", "GP"])("refuses %s", (name) => {
    expect(() => checkDevice(name, HERE)).toThrow(DeviceError);
    expect(() => checkDevice(name, HERE)).toThrow(/Available: CPU, GPU.0, GPU.1/);
  });

  it("suggests capitals", () => {
    expect(() => checkDevice("cpu", HERE)).toThrow(/Did you mean "CPU"\?/);
    expect(() => checkDevice("auto", HERE)).toThrow(/Did you mean "AUTO"\?/);
  });

  it("tells what exists as a field", () => {
    const error = (() => {
      try {
        checkDevice("NPU", HERE);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toMatchObject({ code: "device", device: "NPU", available: ["CPU", "GPU.0", "GPU.1"] });
  });
});

describe("listDevices", () => {
  it("asks the addon", async () => {
    setNativeForTesting(new FakeNative({ devices: HERE }));
    expect(await listDevices()).toEqual(HERE);
  });
});
