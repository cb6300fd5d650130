import { afterEach, expect, it } from "vitest";
import { FakeNative } from "../testing/fake-native.js";
import { setNativeForTesting } from "./native.js";
import { systemInfo } from "./system-info.js";

afterEach(() => setNativeForTesting(undefined));

it("joins what the core and the machine say", () => {
  const native = new FakeNative();
  setNativeForTesting(native);
  expect(systemInfo()).toEqual({ runtime: "fake", build: "fake", ...native.systemInfo() });
});
