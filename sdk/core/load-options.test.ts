import { describe, expect, it } from "vitest";
import { LOAD_DEFAULTS, parseLoadOptions, resolveLoadOptions } from "./load-options.js";

describe("parseLoadOptions", () => {
  it("takes nothing for the defaults, but not null", () => {
    expect(resolveLoadOptions(parseLoadOptions(undefined))).toEqual(LOAD_DEFAULTS);
    expect(resolveLoadOptions(parseLoadOptions({ device: undefined, kvCache: { bytes: undefined } }))).toEqual(
      LOAD_DEFAULTS,
    );
    expect(() => parseLoadOptions(null)).toThrow(/received null/);
  });

  it.each([
    [{ device: "" }, "device"],
    [{ device: 5 }, "device"],
    [{ properties: { NUM_STREAMS: null } }, "properties.NUM_STREAMS"],
    [{ properties: { NUM_STREAMS: NaN } }, "properties.NUM_STREAMS"],
    [{ properties: [] }, "properties"],
    [{ attention: "flash" }, "attention"],
    [{ weights: "int3" }, "weights"],
    [{ kvCache: { bytes: 0 } }, "kvCache.bytes"],
    [{ kvCache: { tokens: 1.5 } }, "kvCache.tokens"],
    [{ kvCache: { precision: "u4" } }, "kvCache.precision"],
    [{ kvCache: { bytes: 1, tokens: 1 } }, "kvCache"],
    [{ cache: "" }, "cache"],
    [{ warmUp: "yes" }, "warmUp"],
    [{ maxBatchTokens: 0 }, "maxBatchTokens"],
    [{ maxBatchSequences: Infinity }, "maxBatchSequences"],
    [{ onProgress: "log" }, "onProgress"],
    [{ signal: {} }, "signal"],
    [{ n_ctx: 5 }, "n_ctx"],
  ])("refuses %j", (options, path) => {
    expect(() => parseLoadOptions(options)).toThrow(expect.objectContaining({ code: "option", path }));
  });

  it("keeps what is given", () => {
    const options = {
      device: "GPU",
      kvCache: { tokens: 5, precision: "f16" as const },
      cache: false,
      maxBatchTokens: 64,
    };
    expect(resolveLoadOptions(parseLoadOptions(options))).toEqual({ ...LOAD_DEFAULTS, ...options });
  });
});
