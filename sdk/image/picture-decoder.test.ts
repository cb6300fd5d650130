import { describe, expect, it } from "vitest";
import { NativeError } from "../core/errors.js";
import type { NativePort } from "../core/native-types.js";
import type { JanusFacts } from "../models/janus-facts.js";
import { FakeGraph } from "../testing/fake-native.js";
import { paintTokens, TINY_JANUS, tokensOfSeed, tokensShown } from "../testing/image-fixture.js";
import { goldenBytes, goldenFloats } from "../testing/janus-fixture.js";
import { fillGrid, PictureDecoder, pixelsOf } from "./picture-decoder.js";

/** Rows of RGB to planes. */
function toPlanes(rows: Float32Array): Float32Array {
  const plane = rows.length / 3;
  return Float32Array.from(rows, (_, index) => rows[(index % plane) * 3 + Math.floor(index / plane)]!);
}

describe("pixels", () => {
  const golden = goldenFloats("t2i_pixels_float_hwc");

  it("equal the reference's, whose values leave the range on both sides", () => {
    expect(Math.max(...golden.data)).toBeGreaterThan(1);
    expect(Math.min(...golden.data)).toBeLessThan(-1);
    const image = pixelsOf({ shape: [1, 3, 32, 32], data: toPlanes(golden.data) }, 32);
    expect([...image.data]).toEqual([...goldenBytes("t2i_pixels_uint8").data]);
  });

  it("are cut, not wrapped round", () => {
    const { data } = pixelsOf({ shape: [1, 3, 1, 1], data: Float32Array.of(-7, 1.01, 1e30) }, 1);
    expect([...data]).toEqual([0, 255, 255]);
  });

  it.each([Number.NaN, Infinity, -Infinity])("%d is an error", (value) => {
    expect(() => pixelsOf({ shape: [1, 3, 1, 1], data: Float32Array.of(0, 0, value) }, 1)).toThrow(NativeError);
  });
});

describe("a partly filled grid", () => {
  it("goes on with the codes above, in the first row with the last one", () => {
    expect([...fillGrid([7, 8], 3)]).toEqual([7, 8, 8, 7, 8, 8, 7, 8, 8]);
    expect([...fillGrid([1, 2, 3, 4], 3)]).toEqual([1, 2, 3, 4, 2, 3, 4, 2, 3]);
    expect([...fillGrid([1, 2, 3, 4], 2)]).toEqual([1, 2, 3, 4]);
  });
});

describe("the graph", () => {
  const facts = { ...TINY_JANUS, codeDimension: 8 } as unknown as JanusFacts;
  const port = (names: string[], shape: number[]): NativePort => ({ names, shape, type: "i64" });
  const decoderOf = (inputs: NativePort[]): { graph: FakeGraph; decoder: PictureDecoder } => {
    const shapeFirst = inputs[0]!.shape.length === 1;
    const graph = new FakeGraph({
      options: { xml: "decoder.xml", bin: "decoder.bin", modelKey: "", device: "CPU", properties: {}, cacheDir: "" },
      script: (tensors, options) => paintTokens(shapeFirst ? tensors.toReversed() : tensors, options),
      info: { inputs },
      nextId: () => 1,
    });
    return { graph, decoder: new PictureDecoder(graph, facts) };
  };

  it.each([
    ["codes and shape", [port(["code_b"], [-1, -1]), port(["shape"], [-1])]],
    ["shape and codes without names", [port([], [4]), port([], [-1, -1])]],
    ["codes alone", [port(["code_b"], [-1, 16])]],
  ])("takes %s", async (_, inputs) => {
    const { graph, decoder } = decoderOf(inputs);
    const tokens = tokensOfSeed(2);
    expect(tokensShown(await decoder.decode(tokens, {}))).toEqual(tokens);
    const [tensors] = graph.inferences;
    expect(tensors).toHaveLength(inputs.length);
    const shape = tensors!.find((tensor) => tensor.shape.length === 1);
    if (inputs.length === 2) expect([...shape!.data]).toEqual([1, 8, 4, 4]);
  });
});
