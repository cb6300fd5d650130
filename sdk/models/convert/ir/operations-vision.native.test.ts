import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inferGraph } from "../../../core/infer-graph.js";
import { getNative } from "../../../core/native.js";
import { Graph, type Value } from "./graph.js";
import { writeIr } from "./ir-writer.js";
import {
  argMax,
  convolution2d,
  doubleSize,
  fullAttention,
  groupNormalization,
  swish,
  unitLength,
} from "./operations-vision.js";
import { floats, parameter, result } from "./operations.js";

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "pergola-operations-"))));
afterAll(() => rm(folder, { recursive: true, force: true }));

let count = 0;

/** Values of a graph that is an operation of one input. */
async function compute(
  values: number[],
  shape: number[],
  build: (value: Value) => Value,
): Promise<{ shape: number[]; data: number[] }> {
  const graph = new Graph("operation");
  result(
    build(
      parameter(
        graph,
        "x",
        "f32",
        shape.map(() => "?" as const),
      ),
    ),
    "y",
  );
  const path = join(folder, `graph-${count++}`);
  await writeIr(graph, path);
  const files = { xml: `${path}.xml`, bin: `${path}.bin`, modelKey: path };
  const opened = await getNative().openGraph({ ...files, device: "CPU", properties: {}, cacheDir: "" }).promise;
  try {
    const [output] = await inferGraph(opened, [{ shape, data: Float32Array.from(values) }]);
    return { shape: output!.shape, data: [...output!.data] };
  } finally {
    await opened.close();
  }
}

const near = (values: number[]): unknown[] => values.map((value) => expect.closeTo(value, 5) as unknown);

describe("operations of image models", () => {
  it("finds the first of equal largest values", async () => {
    const rows = [
      [1, 5, 5, 2],
      [-3, -1, -2, -1],
      [0, 0, 0, 0],
      [9, 1, 1, 1],
    ];
    const { shape, data } = await compute(rows.flat(), [2, 2, 4], (value) => argMax(value, 4));
    expect({ shape, data }).toEqual({ shape: [2, 2], data: [1, 1, 0, 0] });
  });

  it("brings vectors to length 1, and leaves zero where it is", async () => {
    const { data } = await compute([3, 4, 0, 0, 1e-8, 0], [1, 3, 2], (value) => unitLength(value));
    expect(data).toEqual(near([0.6, 0.8, 0, 0, 1, 0]));
  });

  it("doubles pictures", async () => {
    const { shape, data } = await compute([1, 2, 3, 4, 5, 6], [1, 1, 2, 3], doubleSize);
    expect(shape).toEqual([1, 1, 4, 6]);
    const [upper, lower] = [
      [1, 1, 2, 2, 3, 3],
      [4, 4, 5, 5, 6, 6],
    ];
    expect(data).toEqual([...upper, ...upper, ...lower, ...lower]);
  });

  it("moves over pictures with zeros on all sides, or behind only", async () => {
    const picture = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
    const sum = (value: Value): Value =>
      floats(
        value.graph,
        Array.from({ length: 9 }, () => 1),
        [1, 1, 3, 3],
      );
    const around = await compute(picture, [1, 1, 4, 4], (value) => convolution2d(value, sum(value), { padding: 1 }));
    expect(around).toEqual({
      shape: [1, 1, 4, 4],
      data: [14, 24, 30, 22, 33, 54, 63, 45, 57, 90, 99, 69, 46, 72, 78, 54],
    });
    const behind = await compute(picture, [1, 1, 4, 4], (value) =>
      convolution2d(value, sum(value), { stride: 2, padding: [0, 1] }),
    );
    // The first window is the upper left 3 × 3, the others reach over the edge.
    expect(behind).toEqual({ shape: [1, 1, 2, 2], data: [54, 45, 72, 54] });
  });

  it("normalises groups of channels", async () => {
    const { data } = await compute([1, 3, 5, 7, 10, 10, 10, 10], [1, 4, 1, 2], (value) => {
      const [scale, shift] = [floats(value.graph, [1, 2, 1, 1], [4]), floats(value.graph, [0, 1, 0, 5], [4])];
      return groupNormalization(value, scale, shift, 2, 1e-6);
    });
    const unit = Math.sqrt(5);
    expect(data).toEqual(near([-3 / unit, -1 / unit, 1 + 2 / unit, 1 + 6 / unit, 0, 0, 5, 5]));
  });

  it("multiplies by the sigmoid", async () => {
    const { data } = await compute([-1, 0, 2], [3], swish);
    expect(data).toEqual(near([-0.26894142, 0, 1.76159416]));
  });

  it("attends to all positions, scaled by the size of the vectors", async () => {
    const { data } = await compute([1, 0, 0, 0, 0, 2, 0, 0], [1, 1, 2, 4], (value) =>
      fullAttention(value, value, value),
    );
    // Products are 1, 0, 0, 4; half of them after scaling by 4^-0.5.
    const [first, second] = [1 / (1 + Math.exp(-0.5)), 1 / (1 + Math.exp(-2))];
    expect(data).toEqual(near([first, 2 * (1 - first), 0, 0, 1 - second, 2 * second, 0, 0]));
  });
});
