import { afterEach, describe, expect, it } from "vitest";
import { resolveLoadOptions } from "../../core/load-options.js";
import { MetricsClock } from "../../core/metrics.js";
import { eventsOf } from "../../core/native-events.js";
import { setNativeForTesting } from "../../core/native.js";
import { checkPrompt } from "../../generation/prompt.js";
import type { TextModel } from "../../generation/text-model.js";
import { FakeNative } from "../../testing/fake-native.js";
import { grey, TINY_VLM } from "../../testing/vlm-fixture.js";
import { ChatTemplate } from "../../text/chat-template.js";
import { templateOfText } from "../../text/template-source.js";
import { Tokenizer } from "../../text/tokenizer.js";
import { VisionEncoder } from "../vision-encoder.js";
import { visionModel } from "../vlm-model.js";
import { VLM_MESSAGES, type VLMPart } from "../vlm-messages.js";
import type { OpenedFamily } from "./family.js";

afterEach(() => setNativeForTesting(undefined));

const HIDDEN = 2;

/**
 * What no family here needs yet and later ones do: tiles with words between them, numbered pictures, two graphs one after the other,
 * positions on three axes. A picture of n × n pixels has n tiles of two rows each.
 */
function tiled(tokenizer: Tokenizer): OpenedFamily {
  return {
    placeholder: "[PICTURE]",
    imageToken: { text: "<image>", id: tokenizer.idOf("<image>")! },
    key: "tiled",
    prepare: async ({ width }) => ({
      layout: {
        runs: Array<number>(width).fill(2),
        text: (index) => `Picture ${index + 1}: ${Array(width).fill("<image>").join(" next ")}.`,
        grid: [width, 2],
      },
      tensors: [{ name: "patches", shape: [width], data: Float32Array.from({ length: width }, (_, tile) => tile) }],
    }),
    encode: async ({ tensors }, graphs) => {
      const [patches] = await graphs.run("first", tensors);
      const [merged] = await graphs.run("second", [patches!]);
      return { rows: merged!.data as Float32Array };
    },
    positions: (ids, starts, layouts) => {
      const values = new Int32Array(3 * ids.length);
      for (let axis = 0; axis < 3; axis++) values.fill(axis, axis * ids.length, (axis + 1) * ids.length);
      values.set(starts, 0);
      return { axes: 3, values, delta: -layouts.reduce((sum, { grid }) => sum + grid![0], 0) };
    },
  };
}

async function model(): Promise<{ model: TextModel<VLMPart>; native: FakeNative; tokenizer: Tokenizer }> {
  const native = new FakeNative({
    graphs: {
      first: ([patches]) => [{ ...patches!, data: patches!.data.map((tile) => tile + 10) }],
      second: ([patches]) => {
        const rows = [...patches!.data].flatMap((tile) => [tile, 0, tile, 1]);
        return [{ shape: [rows.length / HIDDEN, HIDDEN], data: Float32Array.from(rows) }];
      },
    },
  });
  setNativeForTesting(native);
  const tokenizer = await Tokenizer.fromFolder(TINY_VLM);
  const place = { bin: "", modelKey: "", device: "CPU", properties: {}, cacheDir: "" };
  const graphs = new Map<string, Awaited<ReturnType<FakeNative["openGraph"]>["promise"]>>();
  for (const name of ["first", "second"]) {
    graphs.set(name, await native.openGraph({ ...place, xml: `${name}.xml` }).promise);
  }
  const generator = await native.openGenerator({
    ...resolveLoadOptions({}),
    source: { kind: "ir", xml: "", bin: "" },
    contextLength: 100,
    cacheDir: "",
    modelKey: "",
  }).promise;
  const parts = "{% for m in messages %}{% for p in m.content %}{{ p.text or '[PICTURE]' }}{% endfor %}{% endfor %}";
  return {
    native,
    tokenizer,
    model: visionModel({
      path: "made-up",
      facts: { architecture: "made-up", contextLength: 100 },
      tokenizer,
      template: new ChatTemplate(templateOfText(parts, "test"), tokenizer),
      generator,
      events: eventsOf(native),
      loadOptions: resolveLoadOptions({}),
      givenLoadOptions: new Set(),
      cacheFolder: "",
      stopTokenIds: [],
      configLayer: { source: "generation_config.json", values: {} },
      notes: [],
      loadMs: 0,
      family: tiled(tokenizer),
      encoder: new VisionEncoder(graphs, HIDDEN, "first.xml"),
      imageCacheBytes: 1000,
      loadFacts: {},
      close: async () => {
        await Promise.all([generator, ...graphs.values()].map((part) => part.close()));
        await tokenizer.dispose();
      },
    }),
  };
}

describe("a family with tiles, two graphs and positions on three axes", () => {
  it("needs nothing of the pipeline", async () => {
    const { model: loaded, native, tokenizer } = await model();
    const image = tokenizer.idOf("<image>")!;
    const content = [
      { type: "text", text: "A " },
      { type: "image", image: grey(1, 2) },
      { type: "text", text: " B " },
      { type: "image", image: grey(2, 1) },
    ];
    const prompt = checkPrompt(VLM_MESSAGES, [{ role: "user", content }], {});
    const work = { clock: new MetricsClock(0), callSite: {}, signal: new AbortController().signal };
    const encoded = await loaded.encode(prompt, work);
    const once = tokenizer.encode("A Picture 1: <image> next <image>. B Picture 2: <image>.");
    const expected = once.flatMap((id) => (id === image ? [image, image] : id));
    expect(encoded.ids).toEqual(expected);
    expect(encoded.imageTokens).toBe(6);
    const starts = expected.flatMap((id, index) => (id === image && expected[index - 1] !== image ? [index] : []));
    expect(encoded.positions).toEqual({ axes: 3, values: expect.any(Int32Array), delta: -3 });
    expect([...encoded.positions!.values.subarray(0, 3)]).toEqual(starts);
    expect(native.graphs.flatMap(({ inferences }) => inferences)).toEqual([]);

    const rows = await encoded.rows!(work);
    expect(rows.map(({ start, count, rows: values }) => [start, count, [...values]])).toEqual([
      [starts[0], 2, [10, 0, 10, 1]],
      [starts[1], 2, [11, 0, 11, 1]],
      [starts[2], 2, [10, 0, 10, 1]],
    ]);
    expect(new Set(rows.map(({ key }) => key)).size).toBe(3);
    expect(native.graphs.map(({ inferences }) => inferences.length)).toEqual([2, 2]);
    await loaded.close();
    expect(native.graphs.every(({ closed }) => closed)).toBe(true);
  });
});
