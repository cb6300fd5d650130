import { describe, expect, it } from "vitest";
import { blameCaller, captureCallSite } from "./call-site.js";
import {
  BusyError,
  ContextLengthError,
  DeviceError,
  DisposedError,
  DownloadError,
  fromNative,
  MediaError,
  ModelError,
  NativeError,
  OptionError,
  PergolaError,
  UnsupportedError,
} from "./errors.js";

const ALL: [PergolaError, { name: string; isInstance(value: unknown): boolean }][] = [
  [new OptionError("m", { path: "a", expected: "b", received: 1 }), OptionError],
  [new ModelError("m", { file: "f" }), ModelError],
  [new UnsupportedError("m", { subject: "s" }), UnsupportedError],
  [new DeviceError("m", { device: "NPU", available: ["CPU"] }), DeviceError],
  [new MediaError("m"), MediaError],
  [new ContextLengthError("m", { limit: 1, requested: 2 }), ContextLengthError],
  [new BusyError("m"), BusyError],
  [new DisposedError("m"), DisposedError],
  [new DownloadError("m", { url: "u" }), DownloadError],
  [new NativeError("m"), NativeError],
];

describe("isInstance", () => {
  it.each(ALL)("tells %s from the others", (error, own) => {
    expect(error.name).toBe(own.name);
    expect(error).toBeInstanceOf(Error);
    expect(PergolaError.isInstance(error)).toBe(true);
    for (const [, other] of ALL) expect(other.isInstance(error)).toBe(other === own);
  });

  it("recognises an error of another copy of the package, and nothing else", () => {
    const foreign = Object.assign(new Error("m"), { code: "model", [Symbol.for("pergola.error")]: true });
    expect(ModelError.isInstance(foreign)).toBe(true);
    expect(OptionError.isInstance(foreign)).toBe(false);
    for (const value of [new Error("m"), null, undefined, "model", { code: "model" }]) {
      expect(ModelError.isInstance(value)).toBe(false);
    }
  });
});

describe("fromNative", () => {
  const native = (code: string, details?: object): Error =>
    Object.assign(new Error("text"), { code, ...(details && { details }) });

  it.each([
    ["model", { file: "f" }, { name: "ModelError", file: "f" }],
    ["unsupported", { subject: "Q3_K" }, { name: "UnsupportedError", subject: "Q3_K" }],
    ["device", { subject: "NPU", available: ["CPU"] }, { name: "DeviceError", device: "NPU", available: ["CPU"] }],
    ["context-length", { limit: 5, requested: 9 }, { name: "ContextLengthError", limit: 5, requested: 9 }],
    ["option", { subject: "seed" }, { name: "OptionError", path: "seed" }],
    ["disposed", {}, { name: "DisposedError" }],
    ["native", {}, { name: "NativeError" }],
    ["native", undefined, { name: "NativeError" }],
  ])("maps %s", (code, details, expected) => {
    const error = native(code, details);
    expect(fromNative(error)).toMatchObject({ ...expected, message: "text", cause: error });
  });

  it("leaves the SDK's errors and things that are no errors alone", () => {
    const own = new NativeError("m");
    expect(fromNative(own)).toBe(own);
    expect(fromNative("text")).toBe("text");
    for (const error of [new TypeError("m"), new DOMException("m", "AbortError"), native("ENOENT")]) {
      expect(fromNative(error)).toBe(error);
    }
  });
});

describe("blameCaller", () => {
  function publicCall() {
    return captureCallSite();
  }

  it("shows the public function and the caller's line, for native errors and for the SDK's own", async () => {
    const site = publicCall();
    await Promise.resolve();
    for (const error of [Object.assign(new Error("lost"), { code: "native" }), new ModelError("lost", { file: "f" })]) {
      const blamed = blameCaller(error, site) as Error;
      const [head, first, second] = blamed.stack!.split("\n");
      expect(head).toBe(`${blamed.name}: lost`);
      expect(first).toContain("publicCall");
      expect(second).toContain("errors.test.ts");
    }
  });
});
