import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Graph } from "./graph.js";
import { binBytes, constantBytes } from "./constants-file.js";
import { writeIr } from "./ir-writer.js";
import {
  add,
  assign,
  constant,
  convert,
  floats,
  integers,
  matMul,
  parameter,
  readValue,
  reshape,
  result,
} from "./operations.js";

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "pergola-ir-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

/** `x·Wᵀ + state`, with W in two pieces. */
function small(pieces: () => AsyncIterable<Uint8Array>): Graph {
  const graph = new Graph('a "graph" & more');
  const input = parameter(graph, "x", "f32", ["?", 3]);
  const weights = convert(graph.rename(constant(graph, "f16", [2, 3], 12, pieces), "weights<1>"), "f32", true);
  const product = matMul(input, weights);
  const state = readValue(floats(graph, [0], [1, 1]), "state", ["?", 2]);
  const sum = add(product, state);
  assign(sum, "state");
  result(reshape(sum, [0, -1]), "y");
  graph.runtimeOptions["KV_CACHE_PRECISION"] = "f16";
  return graph;
}

async function* twoPieces(): AsyncGenerator<Uint8Array> {
  yield Uint8Array.of(1, 2, 3, 4, 5);
  yield Uint8Array.of(6, 7, 8, 9, 10, 11, 12);
}

interface Layer {
  id: number;
  name: string;
  type: string;
  text: string;
  inputs: number[];
  outputs: number[];
}

function layersOf(xml: string): Layer[] {
  return [...xml.matchAll(/<layer id="(\d+)" name="([^"]*)" type="(\w+)" version="opset\d+">(.*?)<\/layer>/g)].map(
    ([, id, name, type, text]) => {
      const ports = (part: string): number[] =>
        [...(new RegExp(`<${part}>(.*?)</${part}>`).exec(text!)?.[1] ?? "").matchAll(/<port id="(\d+)"/g)].map(
          ([, port]) => Number(port),
        );
      return {
        id: Number(id),
        name: name!,
        type: type!,
        text: text!,
        inputs: ports("input"),
        outputs: ports("output"),
      };
    },
  );
}

describe("the files", () => {
  it("hold every layer, with edges between ports that exist", async () => {
    await writeIr(small(twoPieces), join(folder, "model"));
    const xml = await readFile(join(folder, "model.xml"), "utf8");
    const layers = layersOf(xml);
    expect(layers.map(({ type }) => type)).toEqual([
      "Parameter",
      "Const",
      "Convert",
      "MatMul",
      "Const",
      "ReadValue",
      "Add",
      "Assign",
      "Const",
      "Reshape",
      "Result",
    ]);
    const edges = [...xml.matchAll(/<edge from-layer="(\d+)" from-port="(\d+)" to-layer="(\d+)" to-port="(\d+)"\/>/g)];
    for (const [, from, fromPort, to, toPort] of edges) {
      expect(layers[Number(from)]!.outputs).toEqual([Number(fromPort)]);
      expect(layers[Number(to)]!.inputs).toContain(Number(toPort));
      expect(Number(from)).toBeLessThan(Number(to));
    }
    expect(edges.length).toBe(layers.reduce((sum, { inputs }) => sum + inputs.length, 0));
  });

  it("name inputs, outputs, variables, and mark decompression", async () => {
    await writeIr(small(twoPieces), join(folder, "model"));
    const xml = await readFile(join(folder, "model.xml"), "utf8");
    expect(xml).toContain('<net name="a &quot;graph&quot; &amp; more" version="11">');
    expect(xml).toContain(
      '<data shape="?,3" element_type="f32"/><output><port id="0" precision="FP32" names="x"/></output>',
    );
    expect(xml).toContain('name="weights&lt;1&gt;"');
    expect(xml).toContain('<rt_info><attribute name="decompression" version="0"/></rt_info>');
    expect(xml).toContain('<data variable_id="state" variable_type="f32" variable_shape="?,2"/>');
    expect(xml).toMatch(/type="Reshape".*precision="FP32" names="y"/);
    expect(xml).toContain('<runtime_options><KV_CACHE_PRECISION value="f16"/></runtime_options>');
  });

  it("hold constants in order, at multiples of 64", async () => {
    const graph = small(twoPieces);
    let reported = 0;
    await writeIr(graph, join(folder, "model"), { onBytes: (bytes) => (reported += bytes) });
    const [xml, bin] = [await readFile(join(folder, "model.xml"), "utf8"), await readFile(join(folder, "model.bin"))];
    const places = [...xml.matchAll(/offset="(\d+)" size="(\d+)"/g)].map(([, offset, size]) => [
      Number(offset),
      Number(size),
    ]);
    expect(places).toEqual([
      [0, 12],
      [64, 4],
      [128, 16],
    ]);
    expect([...bin.subarray(0, 12)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect([bin.readBigInt64LE(128), bin.readBigInt64LE(136)]).toEqual([0n, -1n]);
    expect(bin.length).toBe(144);
    expect(binBytes(graph)).toBe(144);
    expect(reported).toBe(constantBytes(graph));
  });
});

it("gives every layer a name of its own", () => {
  const graph = new Graph("names");
  for (let count = 0; count < 3; count++) graph.scope("layers.0", () => integers(graph, 1));
  graph.rename(integers(graph, 1), "layers.0/Const");
  expect(new Set(graph.nodes.map(({ name }) => name)).size).toBe(4);
  expect(graph.nodes[0]!.name).toBe("layers.0/Const");
});

describe("leaves no file behind", () => {
  const failed = (pieces: () => AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void> =>
    writeIr(small(pieces), join(folder, "model"), { signal });

  it("if values cannot be made", async () => {
    const failure = new Error("lost");
    const writing = failed(async function* () {
      yield Uint8Array.of(1);
      throw failure;
    });
    await expect(writing).rejects.toBe(failure);
    expect(await readdir(folder)).toEqual([]);
  });

  it("if a constant has another size than it said", async () => {
    const writing = failed(async function* () {
      yield Uint8Array.of(1);
    });
    await expect(writing).rejects.toThrow(/made 1 bytes instead of 12/);
    expect(await readdir(folder)).toEqual([]);
  });

  it("if it is aborted between two pieces", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const writing = failed(async function* () {
      yield Uint8Array.of(1, 2, 3, 4, 5);
      controller.abort(reason);
      yield Uint8Array.of(6, 7, 8, 9, 10, 11, 12);
    }, controller.signal);
    await expect(writing).rejects.toBe(reason);
    expect(await readdir(folder)).toEqual([]);
  });

  it("and nothing can be loaded before it is complete", async () => {
    let seen: string[] = [];
    await failed(async function* () {
      yield* twoPieces();
      seen = await readdir(folder);
    });
    expect(seen).toEqual(["model.bin.partial"]);
    expect((await readdir(folder)).sort()).toEqual(["model.bin", "model.xml"]);
  });
});
