import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readRotary } from "./rotary.js";

interface Reference {
  name: string;
  config: Record<string, unknown>;
  frequencies: number[];
  scale: number;
}

/** Frequencies of transformers 5.5.4 for configurations of its Llama and Phi-3 classes. */
const REFERENCES = JSON.parse(
  readFileSync(new URL("../../../../../test/fixtures/llm/rotary.json", import.meta.url), "utf8"),
) as Reference[];

const read = (config: Record<string, unknown>, contextLength = 4096): ReturnType<typeof readRotary> =>
  readRotary(config, "config.json", { headSize: 32, contextLength, base: 10_000 });

it.each(REFERENCES)("$name: as in transformers", ({ config, frequencies, scale }) => {
  const { rope } = read(config, config["max_position_embeddings"] as number);
  expect(rope.frequencies).toHaveLength(frequencies.length);
  frequencies.forEach((frequency, pair) => {
    // Both are f32; theirs are computed in f32 too.
    expect(Math.abs(rope.frequencies[pair]! / frequency - 1)).toBeLessThan(2e-6);
  });
  expect(rope.scale).toBeCloseTo(scale, 12);
});

describe("the context", () => {
  it("of variants with other frequencies for longer texts ends where those would begin", () => {
    const longrope = REFERENCES.find(({ name }) => name === "longrope")!.config;
    expect(read(longrope, 131_072).contextLength).toBe(4096);
    expect(read({ rope_scaling: { type: "dynamic", factor: 2 } }, 2048).contextLength).toBe(2048);
    const named = { rope_scaling: { type: "dynamic", factor: 2, original_max_position_embeddings: 1024 } };
    expect(read(named, 2048).contextLength).toBe(1024);
  });

  it("of others is that of the configuration", () => {
    const llama3 = REFERENCES.find(({ name }) => name === "llama3")!.config;
    expect(read(llama3, 131_072).contextLength).toBe(131_072);
  });
});

describe("refuses", () => {
  it("a variant that is not known, naming it", () => {
    expect(() => read({ rope_scaling: { rope_type: "spiral" } })).toThrow(/"spiral" is not known \(default, linear/);
    try {
      read({ rope_scaling: { rope_type: "spiral" } });
    } catch (error) {
      expect(error).toMatchObject({ code: "unsupported", subject: "rotary embedding spiral" });
    }
  });

  it("embeddings that differ between layers", () => {
    const config = { rope_parameters: { full_attention: { rope_theta: 1e6 }, sliding_attention: { rope_theta: 1e4 } } };
    expect(() => read(config)).toThrow(/differ between layers \("full_attention"\)/);
  });

  it.each([
    [{ rope_scaling: { rope_type: "linear" } }, /"factor" .* must be a positive number, found undefined/],
    [{ rope_scaling: { rope_type: "linear", factor: 0 } }, /"factor"/],
    [{ rope_scaling: { rope_type: "llama3", factor: 8 } }, /"low_freq_factor"/],
    [{ rope_scaling: { type: "longrope", short_factor: [1, 2] } }, /"short_factor" .* list of 16 positive numbers/],
    [{ rope_theta: -1 }, /"rope_theta"/],
    [{ partial_rotary_factor: 0.1 }, /makes 3 of 32 values turn/],
    [{ partial_rotary_factor: 2 }, /makes 64 of 32/],
    [{ rope_scaling: [] }, /damaged/],
  ])("%j", (config, message) => {
    expect(() => read(config)).toThrow(message);
  });
});
