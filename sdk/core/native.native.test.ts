import { describe, expect, it, vi } from "vitest";
import { listDevices } from "./devices.js";
import { getNative } from "./native.js";
import { eventsOf } from "./native-events.js";
import { NATIVE_ABI } from "./native-types.js";

describe("the real addon", () => {
  it("is found, and tells what it is", () => {
    const { info } = getNative();
    expect(info.abi).toBe(NATIVE_ABI);
    expect(info.runtime).toMatch(/^2026\.4/);
    expect(getNative()).toBe(getNative());
  });

  it("lists the CPU", async () => {
    const cpu = (await listDevices()).find(({ name }) => name === "CPU");
    expect(cpu!.fullName).not.toBe("");
    expect(cpu!.capabilities).toContain("FP32");
  });

  it("is shared with its event router by two copies of the package", async () => {
    const router = eventsOf(getNative());
    vi.resetModules();
    const copy = await import("./native.js");
    const copyOfEvents = await import("./native-events.js");
    expect(copy.getNative).not.toBe(getNative);
    expect(copyOfEvents.eventsOf(copy.getNative())).toBe(router);
  });

  it("gives typed errors for models that it cannot read", async () => {
    const { promise } = getNative().openGenerator({
      source: { kind: "ir", xml: "/none/openvino_model.xml", bin: "/none/openvino_model.bin" },
      device: "CPU",
      properties: {},
      attention: "auto",
      weights: "file",
      kvCache: {},
      contextLength: 0,
      cacheDir: "",
      modelKey: "none",
      prefixCaching: true,
      maxBatchTokens: 512,
      maxBatchSequences: 64,
      warmUp: false,
    });
    await expect(promise).rejects.toMatchObject({ code: "model", details: { file: "/none/openvino_model.xml" } });
  });
});
