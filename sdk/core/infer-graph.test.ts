import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { fakeNativeError, FakeGraph, FakeNative, type FakeGraphScript } from "../testing/fake-native.js";
import { ModelError } from "./errors.js";
import { inferGraph } from "./infer-graph.js";
import { setNativeForTesting } from "./native.js";
import type { NativeTensor } from "./native-types.js";

const tensor = (...values: number[]): NativeTensor => ({ shape: [values.length], data: Float32Array.from(values) });

function graphOf(script: FakeGraphScript): FakeGraph {
  let id = 0;
  const options = { xml: "g.xml", bin: "g.bin", modelKey: "", device: "CPU", properties: {}, cacheDir: "" };
  const graph = new FakeGraph({ options, script, nextId: () => ++id });
  setNativeForTesting(Object.assign(new FakeNative(), { stop: (job: number) => graph.stop(job) }));
  return graph;
}

afterEach(() => setNativeForTesting(undefined));

const double: FakeGraphScript = ([input]) => [tensor(...Array.from(input!.data, (value) => value * 2))];

it("gives the outputs, in the order of the calls", async () => {
  const graph = graphOf(double);
  const outputs = await Promise.all([1, 2, 3].map((value) => inferGraph(graph, [tensor(value)])));
  expect(outputs.map(([output]) => output!.data[0])).toEqual([2, 4, 6]);
  expect(graph.inferences.map(([input]) => input!.data[0])).toEqual([1, 2, 3]);
});

it("gives native errors the SDK's class and the caller's stack", async () => {
  const graph = graphOf(() => {
    throw fakeNativeError("model", "the shape does not fit", { file: "g.xml" });
  });
  const callSite = { stack: "Error\n    at theirProgram (app.js:1:1)" };
  const failure = await inferGraph(graph, [], { callSite }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ModelError);
  expect(failure).toMatchObject({ file: "g.xml", stack: expect.stringContaining("theirProgram") as string });
  await graph.close();
  await expect(inferGraph(graph, [])).rejects.toMatchObject({ code: "disposed" });
});

it("an aborted signal takes a waiting inference out, and rejects with its reason once it is", async () => {
  const graph = graphOf(double);
  graph.hold();
  const [first, second] = [new AbortController(), new AbortController()];
  const calls = [first, second].map(({ signal }, index) => inferGraph(graph, [tensor(index)], { signal }));
  await nextTurn();
  const reason = new Error("enough");
  first.abort(reason);
  await expect(calls[0]).rejects.toBe(reason);
  expect(graph.waitingCount).toBe(1);
  graph.release();
  expect((await calls[1])![0]!.data[0]).toBe(2);
  await expect(inferGraph(graph, [tensor(1)], { signal: first.signal })).rejects.toBe(reason);
  expect(graph.inferences).toHaveLength(1);
});

it("an inference that is through when the signal fires rejects all the same", async () => {
  const ends = new AbortController();
  const graph = graphOf((inputs, options) => {
    ends.abort(new Error("too late"));
    return double(inputs, options);
  });
  await expect(inferGraph(graph, [tensor(1)], { signal: ends.signal })).rejects.toThrow("too late");
});
