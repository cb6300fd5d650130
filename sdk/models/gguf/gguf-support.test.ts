import { describe, expect, it } from "vitest";
import { UnsupportedError } from "../../core/errors.js";
import { GgufMetadata, type GgufFile, type GgufValue } from "./gguf-file.js";
import { checkGgufSupport } from "./gguf-support.js";
import { ggmlType } from "./gguf-types.js";

function gguf(
  architecture: string,
  entries: Record<string, GgufValue> = {},
  tensors: [string, number][] = [],
): GgufFile {
  const metadata = new GgufMetadata("x.gguf", [["general.architecture", architecture], ...Object.entries(entries)]);
  return {
    version: 3,
    metadata,
    tensors: tensors.map(([name, type]) => ({
      name,
      type,
      typeName: ggmlType(type)?.name ?? `type ${type}`,
      dimensions: [256],
      file: 0,
      offset: 0,
      byteLength: 0,
    })),
    files: ["x.gguf"],
    fileSize: 0,
  };
}

function refusal(file: GgufFile): UnsupportedError {
  try {
    checkGgufSupport(file);
  } catch (error) {
    expect(error).toBeInstanceOf(UnsupportedError);
    return error as UnsupportedError;
  }
  throw new Error("was not refused");
}

describe("tensor types", () => {
  it.each([0, 1, 2, 3, 6, 7, 8, 10, 11, 12, 13, 14, 30, 39])("number %i can be read", (type) => {
    expect(checkGgufSupport(gguf("llama", {}, [["blk.0.attn_q.weight", type]])).notes).toEqual([]);
  });

  it.each([
    [20, "IQ4_NL"],
    [23, "IQ4_XS"],
    [35, "TQ2_0"],
    [99, "type 99"],
  ])("number %i is refused with tensor, type, and what to use", (type, name) => {
    const file = gguf("llama", {}, [
      ["output_norm.weight", 0],
      ["token_embd.weight", type],
    ]);
    const error = refusal(file);
    expect(error.subject).toBe(name);
    expect(error.message).toContain(`x.gguf: tensor "token_embd.weight" has the type ${name}`);
    expect(error.message).toMatch(/types F32, F16, BF16, Q4_0, .*Q6_K, MXFP4, or an OpenVINO IR/);
  });
});

describe("architectures", () => {
  it("known to be converted wrongly are refused by name", () => {
    expect(refusal(gguf("exaone4"))).toMatchObject({ subject: "exaone4" });
  });

  it("that nobody has compared with a reference say so", () => {
    expect(checkGgufSupport(gguf("gemma4")).notes).toEqual([expect.stringContaining("gemma4 has not been compared")]);
  });
});

describe("attention windows", () => {
  const window = (architecture: string, size: number, context = 8192): Record<string, GgufValue> => ({
    [`${architecture}.attention.sliding_window`]: size,
    [`${architecture}.context_length`]: context,
  });

  it("shorter than the context need the model's state", () => {
    expect(checkGgufSupport(gguf("gemma3", window("gemma3", 512))).statefulReason).toContain("window of 512 tokens");
  });

  it("as long as the context do not matter", () => {
    expect(checkGgufSupport(gguf("gemma3", window("gemma3", 8192)))).toEqual({
      contextLimit: 0,
      statefulReason: "",
      notes: [],
    });
  });

  it("of phi3 are told, because nothing applies them", () => {
    const support = checkGgufSupport(gguf("phi3", window("phi3", 2047)));
    expect(support.statefulReason).toBe("");
    expect(support.notes).toEqual([expect.stringContaining("window of 2047 tokens is not applied")]);
  });
});

it("LongRoPE models keep to the length of their short factors", () => {
  const entries = { "phi3.context_length": 131072, "phi3.rope.scaling.original_context_length": 4096 };
  const support = checkGgufSupport(gguf("phi3", entries, [["rope_factors_short.weight", 0]]));
  expect(support.contextLimit).toBe(4096);
  expect(support.notes).toEqual([expect.stringContaining("limited to 4096 of 131072 tokens")]);
});
