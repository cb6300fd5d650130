import { describe, expect, it } from "vitest";
import { z } from "zod";
import { OptionError } from "./errors.js";
import { generationOptionFields } from "./generation-options.js";
import { loadOptionFields } from "./load-options.js";
import { parseOptions, showValue } from "./validate.js";

const generation = z.strictObject(generationOptionFields);
const load = z.strictObject(loadOptionFields);

function errorOf(schema: z.ZodType, value: unknown, path?: string): OptionError {
  try {
    parseOptions(schema, value, path);
  } catch (error) {
    if (error instanceof OptionError) return error;
    throw error;
  }
  throw new Error("no error was thrown");
}

describe("unknown names", () => {
  it.each([
    ["max_tokens", "maxNewTokens"],
    ["maxTokens", "maxNewTokens"],
    ["max_new_tokens", "maxNewTokens"],
    ["num_predict", "maxNewTokens"],
    ["top_p", "topP"],
    ["stop_sequences", "stop"],
    ["repeat_penalty", "repetitionPenalty"],
    ["temprature", "temperature"],
    ["Temperature", "temperature"],
    ["seeed", "seed"],
  ])("%s is told to be %s", (wrong, right) => {
    const error = errorOf(generation, { [wrong]: 5 });
    expect(error.message).toContain(`Unknown option "${wrong}". Did you mean "${right}"?`);
    expect(error).toMatchObject({ path: wrong, suggestion: right, received: 5, code: "option" });
    expect(error.cause).toBeInstanceOf(z.ZodError);
  });

  it("knows nested names and names of load()", () => {
    expect(errorOf(load, { num_ctx: 5 }).suggestion).toBe("kvCache.tokens");
    const nested = errorOf(load, { kvCache: { token: 5 } });
    expect(nested).toMatchObject({ path: "kvCache.token", suggestion: "tokens" });
    expect(nested.message).toContain('Did you mean "kvCache.tokens"?');
  });

  it("says when a name belongs to another call, and lists what there is otherwise", () => {
    const elsewhere = errorOf(generation, { num_ctx: 5 });
    expect(elsewhere.suggestion).toBeUndefined();
    expect(elsewhere.message).toContain('"kvCache.tokens", which belongs to another call');
    const other = errorOf(z.strictObject({ n: z.number().optional() }), { maxNewTokens: 5 });
    expect(other.message).toBe('Unknown option "maxNewTokens". It belongs to another call. Known: n.');
    expect(errorOf(generation, { zzzzzzzzzz: 1 }).message).toContain("Known: maxNewTokens, ");
  });
});

describe("names that live elsewhere", () => {
  const stream = z.strictObject({ n: z.number().optional(), stop: z.string().optional() });
  it.each([
    ["system", /startChat\(\{ system \}\)/],
    ["systemPrompt", /startChat\(\{ system \}\)/],
    ["responseFormat", /not offered yet.*JSON\.parse/],
    ["response_format", /not offered yet/],
    ["steps", /made token by token/],
    ["num_inference_steps", /made token by token/],
    ["quantization", /option of load\(\): weights/],
    ["previewEvery", /`stream` only/],
  ])("%s is told where", (name, place) => {
    const error = errorOf(stream, { [name]: 5 });
    expect(error.message).toMatch(place);
    expect(error.suggestion).toBeUndefined();
  });

  it("and where the call has the option, its name is told", () => {
    expect(errorOf(z.strictObject({ weights: z.string().optional() }), { quantization: "int8" }).suggestion).toBe(
      "weights",
    );
  });
});

describe("wrong values", () => {
  it.each([NaN, Infinity, -Infinity, null, 1.5, "10", -1, 2 ** 53, true, [], {}])(
    "maxNewTokens refuses %s",
    (value) => {
      const error = errorOf(generation, { maxNewTokens: value });
      expect(error).toMatchObject({ path: "maxNewTokens", expected: "a whole number of at least 0", received: value });
      expect(error.message).toContain(`received ${showValue(value)}`);
    },
  );

  it.each([
    ["temperature", -0.1],
    ["temperature", 2.1],
    ["topK", -1],
    ["topP", 0],
    ["topP", 1.01],
    ["minP", 1],
    ["minP", -0.1],
    ["repetitionPenalty", 0],
    ["presencePenalty", 2.5],
    ["frequencyPenalty", -3],
    ["topLogprobs", 21],
    ["seed", -1],
    ["seed", 1.5],
    ["seed", null],
    ["stopTokenIds", [1, -2]],
    ["stop", ""],
    ["stop", ["a", ""]],
    ["logitBias", { 5: 101 }],
    ["logitBias", { word: 1 }],
    ["ignoreEos", 1],
  ])("%s refuses %j", (name, value) => {
    expect(errorOf(generation, { [name]: value }).path).toMatch(new RegExp(`^${name}`));
  });

  it("points into arrays and says null means nothing here", () => {
    expect(errorOf(generation, { stop: ["a", ""] })).toMatchObject({ path: "stop[1]", received: "" });
    expect(errorOf(generation, { stopTokenIds: [1, "2"] }).path).toBe("stopTokenIds[1]");
    expect(errorOf(generation, { temperature: null }).message).toContain("Leave it out (or pass undefined)");
  });

  it("tells the accepted words of a choice and the forms of a union", () => {
    expect(errorOf(load, { attention: "flash" }).message).toBe(
      'attention must be one of "auto", "paged", "stateful", received "flash".',
    );
    expect(errorOf(load, { cache: 5 }).message).toBe("cache must be true, false or the path of a folder, received 5.");
  });

  it("tells the kinds of a union that a field tells apart, and plain words for zod's own", () => {
    const part = z.discriminatedUnion("type", [
      z.strictObject({ type: z.literal("text"), text: z.string() }),
      z.strictObject({ type: z.literal("image"), image: z.unknown() }),
    ]);
    expect(errorOf(z.array(part), [{ type: "video" }], "content").message).toBe(
      'content[0].type must be one of "text", "image", received "video".',
    );
    expect(errorOf(z.array(part), [{ type: "image" }], "content").message).toBe(
      "content[0].image must be a value, received undefined.",
    );
    expect(errorOf(load, { properties: 5 }).message).toBe("properties must be an object, received 5.");
  });

  it("advises to leave out null only where that can be done", () => {
    const schema = z.strictObject({ needed: z.string(), list: z.array(z.string()).optional() });
    const advice = "Leave it out";
    expect(errorOf(schema, { needed: "a", list: null }).message).toContain(advice);
    expect(errorOf(schema, null).message).toContain(advice);
    expect(errorOf(schema, { needed: null }).message).not.toContain(advice);
    expect(errorOf(schema, { needed: "a", list: [null] }).message).not.toContain(advice);
    expect(errorOf(z.number(), null, "index").message).not.toContain(advice);
  });

  it("refuses options that are no object", () => {
    expect(errorOf(generation, "fast").message).toBe('The options must be an object, received "fast".');
    expect(errorOf(generation, null).message).toContain("received null");
    expect(errorOf(generation, [], "options").path).toBe("options");
  });

  it("takes undefined for inherit", () => {
    expect(parseOptions(generation, { temperature: undefined, topP: 0.5 })).toEqual({
      temperature: undefined,
      topP: 0.5,
    });
  });
});

describe("showValue", () => {
  it("shortens and never throws", () => {
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    expect(showValue("x".repeat(500)).length).toBeLessThan(120);
    expect(showValue(circular)).toBe("an object");
    expect(showValue(10n)).toBe("10n");
    expect(showValue(new Uint8Array(3))).toBe("an object of class Uint8Array");
    expect(showValue(Object.create(null))).toBe("{}");
    expect(showValue(Symbol("s"))).toBe("Symbol(s)");
  });
});
