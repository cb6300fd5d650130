import { afterEach, describe, expect, it } from "vitest";
import { FakeNative } from "../testing/fake-native.js";
import { setNativeForTesting } from "./native.js";
import { nativeForDevices } from "./native-load.js";

afterEach(() => setNativeForTesting(undefined));

/** A machine whose CPU has these capabilities. */
function machine(...capabilities: string[]): FakeNative {
  const native = new FakeNative({ devices: [{ name: "CPU", fullName: "Plain CPU", capabilities }] });
  setNativeForTesting(native);
  return native;
}

const open = (precision: string): Promise<unknown> =>
  nativeForDevices({ device: "CPU", properties: { INFERENCE_PRECISION_HINT: precision } }, [], undefined);

describe("bf16", () => {
  it.each(["bf16", "BF16"])("%s is refused in plain words where the CPU has none", async (precision) => {
    machine("FP32");
    await expect(open(precision)).rejects.toMatchObject({
      ...{ code: "option", path: "properties.INFERENCE_PRECISION_HINT", received: precision },
      message: expect.stringMatching(/this CPU \(Plain CPU\) has no instructions for bf16.*f32/) as string,
    });
  });

  it("is taken where the CPU has it, and other precisions anywhere", async () => {
    const native = machine("FP32", "BF16");
    expect(await open("bf16")).toBe(native);
    const plain = machine("FP32");
    for (const precision of ["f32", "f16"]) expect(await open(precision)).toBe(plain);
  });
});
