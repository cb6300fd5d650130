import { afterEach, expect, it, vi } from "vitest";

afterEach(() => vi.unstubAllEnvs());

it("is not loaded by importing the package, and a wrong PERGOLA_NATIVE is explained on first use", async () => {
  vi.resetModules();
  vi.stubEnv("PERGOLA_NATIVE", "/none/pergola.node");
  const { listDevices: list, NativeError, LLMPipeline } = await import("./index.js");
  await expect(list()).rejects.toBeInstanceOf(NativeError);
  await expect(LLMPipeline.load("x")).rejects.toThrow(/PERGOLA_NATIVE=\/none\/pergola.node: no such file/);
});
