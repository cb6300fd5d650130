import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  ContextLengthError,
  DisposedError,
  MediaError,
  ModelError,
  OptionError,
  UnsupportedError,
} from "../core/errors.js";
import { failureOf, turns } from "../testing/fake-harness.js";
import { grey, meanOf, meansOf, TINY_ROWS, useFakeVLMs } from "../testing/vlm-fixture.js";
import { expandedIds, llavaCases, visionFixture, withPictures } from "../testing/vlm-fixtures.js";
import type { VLMMessage } from "./vlm-messages.js";
import { VLMPipeline } from "./vlm-pipeline.js";

const load = useFakeVLMs();
const SMALL = visionFixture("vlm/images/small.png");
const WIDE = visionFixture("vlm/images/wide.png");

/** One user message of these parts. */
const user = (...content: Exclude<VLMMessage["content"], string | null | undefined>): VLMMessage[] => [
  { role: "user", content },
];
const picture = (image: Parameters<typeof grey>[0] | string) => ({
  type: "image" as const,
  image: typeof image === "number" ? grey(image) : image,
});
const text = (words: string) => ({ type: "text" as const, text: words });

describe("a picture in a prompt", () => {
  it("stands where the template puts it, once for each row, and counts as tokens of the prompt", async () => {
    const { vlm, requests, prompts, tokenizer } = await load();
    const result = await vlm.generate(user(picture(100), text("What is it?")));
    expect(result).toMatchObject({ text: "seen", finishReason: "stop" });
    expect(prompts()).toEqual(["<s> USER: <image>\nWhat is it? ASSISTANT:"]);
    const [{ promptIds, promptRows }] = requests as [(typeof requests)[0]];
    expect(result.usage.promptTokens).toBe(promptIds.length);
    const image = tokenizer.idOf("<image>")!;
    expect(promptIds.filter((id) => id === image)).toHaveLength(TINY_ROWS.count);
    const start = promptIds.indexOf(image);
    expect(promptIds.subarray(start, start + TINY_ROWS.count).every((id) => id === image)).toBe(true);
    expect(promptRows).toEqual([
      { start, count: TINY_ROWS.count, rows: expect.any(Float32Array), key: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ]);
    expect(promptRows![0]!.rows).toHaveLength(TINY_ROWS.count * TINY_ROWS.hidden);
    expect(meansOf(requests[0]!)[0]).toBeCloseTo(meanOf(100), 4);
  });

  it.each(llavaCases())("has the reference's ids: %s", async (_, { messages, images, input_ids }) => {
    const { vlm, requests } = await load();
    const pictures = images.map((name) => visionFixture(`vlm/images/${name}.png`));
    await vlm.generate(withPictures(messages, pictures));
    expect([...requests[0]!.promptIds]).toEqual(expandedIds(input_ids));
  });

  it("begins with BOS once", async () => {
    const { vlm, requests, tokenizer } = await load();
    await vlm.generate(user(picture(1), text("a")));
    await vlm.generate("a");
    for (const { promptIds } of requests) {
      expect(promptIds[0]).toBe(tokenizer.bosId);
      expect(promptIds.filter((id) => id === tokenizer.bosId)).toHaveLength(1);
    }
  });

  it("may come by the option images, in front of the text", async () => {
    const { vlm, requests, prompts } = await load();
    await vlm.generate("Both?", { images: [grey(10), SMALL] });
    expect(prompts()).toEqual(["<s> USER: <image>\n<image>\nBoth? ASSISTANT:"]);
    expect(meansOf(requests[0]!)[0]).toBeCloseTo(meanOf(10), 4);
  });

  it("may come as OpenAI writes it", async () => {
    const { vlm, requests } = await load();
    const url = `data:image/png;base64,${readFileSync(SMALL).toString("base64")}`;
    await vlm.generate(user({ type: "image_url", image_url: { url, detail: "low" } }, text("a")));
    await vlm.generate(user({ type: "image_url", image_url: url }, text("a")));
    await vlm.generate(user(picture(SMALL), text("a")));
    const keys = requests.map(({ promptRows }) => promptRows![0]!.key);
    expect(new Set(keys).size).toBe(1);
  });

  it("may be anything that is an image", async () => {
    const { vlm, requests } = await load();
    const bytes = readFileSync(SMALL);
    const padded = Buffer.concat([Buffer.alloc(7), bytes]).subarray(7);
    const forms = [
      SMALL,
      new URL(`file://${SMALL}`),
      bytes,
      padded,
      new Uint8Array(bytes),
      new Uint8Array(bytes).buffer,
    ];
    for (const image of forms) await vlm.generate("a", { images: [image] });
    expect(new Set(requests.map(({ promptRows }) => promptRows![0]!.key)).size).toBe(1);
    const pixels = { data: new Uint8Array(grey(77).data), width: 56, height: 56 };
    await vlm.generate("a", { images: [pixels] });
    expect(meansOf(requests.at(-1)!)[0]).toBeCloseTo(meanOf(77), 4);
  });

  it("is flattened over white, unless its alpha is dropped", async () => {
    const { vlm, requests } = await load();
    const clear = { data: new Uint8Array(56 * 56 * 4), width: 56, height: 56, channels: 4 } as const;
    await vlm.generate(user({ type: "image", image: clear }, text("a")));
    await vlm.generate(user({ type: "image", image: clear, alpha: "drop" }, text("a")));
    expect(meansOf(requests[0]!)[0]).toBeCloseTo(meanOf(255), 4);
    expect(meansOf(requests[1]!)[0]).toBeCloseTo(meanOf(0), 4);
  });

  it("is what it was when the call was made", async () => {
    const { vlm, requests } = await load();
    const pixels = { data: new Uint8Array(grey(50).data), width: 56, height: 56 };
    const running = vlm.generate("a", { images: [pixels] });
    await running;
    pixels.data.fill(200);
    await vlm.generate("a", { images: [pixels] });
    expect(meansOf(requests[0]!)[0]).toBeCloseTo(meanOf(50), 4);
    expect(meansOf(requests[1]!)[0]).toBeCloseTo(meanOf(200), 4);
  });
});

describe("several pictures", () => {
  it("keep their order, over messages too", async () => {
    const { vlm, requests, prompts } = await load();
    const conversation: VLMMessage[] = [
      ...user(picture(10), picture(20), picture(30), text("three")),
      { role: "assistant", content: "ok" },
      ...user(text("and"), picture(40)),
    ];
    await vlm.generate(conversation);
    expect(meansOf(requests[0]!)).toEqual([10, 20, 30, 40].map((level) => expect.closeTo(meanOf(level), 3)));
    expect(prompts()).toEqual([
      "<s> USER: <image>\n<image>\n<image>\nthree ASSISTANT: ok USER: <image>\nand ASSISTANT:",
    ]);
    const starts = requests[0]!.promptRows!.map(({ start }) => start);
    expect(starts).toEqual([...starts].sort((a, b) => a - b));
  });

  it("are encoded once each, however often they are used", async () => {
    const { vlm, encoder, requests, native } = await load();
    const bytes = readFileSync(WIDE);
    await vlm.generate(user(picture(10), { type: "image", image: bytes }, { type: "image", image: bytes }, text("a")));
    expect(encoder.inferences).toHaveLength(2);
    const [, second, third] = requests[0]!.promptRows!;
    expect(second!.key).toBe(third!.key);
    expect(second!.rows).toEqual(third!.rows);
    const prepared = native.resizes.length;
    const again = await vlm.generate(user({ type: "image", image: bytes }, text("Another question")));
    // Neither decoded nor encoded again.
    expect(encoder.inferences).toHaveLength(2);
    expect(native.resizes).toHaveLength(prepared);
    expect(requests[1]!.promptRows![0]!.key).toBe(second!.key);
    expect(again.usage.promptTokens).toBe(requests[1]!.promptIds.length);
  });

  it("are encoded again when their features had to go", async () => {
    const bytesOfOne = TINY_ROWS.count * TINY_ROWS.hidden * 4;
    const { vlm, encoder } = await load(undefined, { imageCacheBytes: 2 * bytesOfOne });
    for (const level of [1, 2, 1, 3, 1, 2]) await vlm.generate("a", { images: [grey(level)] });
    // 1, 2, (1 kept), 3 (2 goes), (1 kept), 2
    expect(encoder.inferences).toHaveLength(4);
    const none = await load(undefined, { imageCacheBytes: 0 });
    for (const level of [1, 1]) await none.vlm.generate("a", { images: [grey(level), grey(level)] });
    // Once for each call.
    expect(none.encoder.inferences).toHaveLength(2);
  });

  it("are shared by calls at the same time", async () => {
    const { vlm, encoder } = await load();
    const results = await vlm.generate(["a", "b", "c"], { images: [grey(9)] });
    expect(results.map(({ text: answer }) => answer)).toEqual(["seen", "seen", "seen"]);
    expect(encoder.inferences).toHaveLength(1);
  });
});

describe("texts", () => {
  it("without pictures need no encoder", async () => {
    const { vlm, encoder, requests, prompts } = await load();
    await vlm.generate("Hello");
    expect(prompts()).toEqual(["<s> USER: Hello ASSISTANT:"]);
    expect(requests[0]).not.toHaveProperty("promptRows");
    expect(encoder.inferences).toHaveLength(0);
  });

  it.each([[["<image> what is <image>?"]], [["<ima", "ge> what"]]])(
    "that spell the image token (%j) are no pictures",
    async (parts) => {
      const { vlm, requests, tokenizer } = await load();
      await vlm.generate(user(picture(5), ...parts.map(text)));
      const image = tokenizer.idOf("<image>")!;
      const { promptIds, promptRows } = requests[0]!;
      expect(promptIds.filter((id) => id === image)).toHaveLength(TINY_ROWS.count);
      expect(promptRows).toHaveLength(1);
      const said = tokenizer.decode(promptIds.filter((id) => id !== image));
      expect(said.replaceAll(" ", "")).toContain(parts.join("").replaceAll(" ", ""));
    },
  );

  it("that spell it are refused where control tokens are allowed", async () => {
    const { vlm } = await load();
    const failure = await failureOf(() =>
      vlm.generate(user(picture(5), text("<image> what?")), { allowControlTokens: true }),
    );
    expect(failure).toBeInstanceOf(OptionError);
    expect(failure).toMatchObject({
      path: "prompt",
      message: expect.stringContaining("2 placeholders for 1 picture."),
    });
    expect((failure as Error).message).toContain("allowControlTokens");
  });

  it("may be raw, with placeholders for the pictures", async () => {
    const { vlm, requests, prompts } = await load();
    const options = { images: [grey(1), grey(2)], applyChatTemplate: false };
    await vlm.generate("A <image> and <image>:", options);
    expect(prompts()[0]).toBe("<s> A <image> and <image>:");
    expect(meansOf(requests[0]!)).toEqual([1, 2].map((level) => expect.closeTo(meanOf(level), 3)));
    for (const prompt of ["none", "<image>", "<image><image><image>"]) {
      expect(await failureOf(() => vlm.generate(prompt, options))).toMatchObject({ path: "prompt" });
    }
  });
});

describe("what is wrong is told by name", () => {
  it.each([
    [user({ type: "image", image: 5 as never }), "messages[0].content[0].image"],
    [
      user(text("a"), { type: "image", image: { data: new Uint8Array(5), width: 2, height: 2 } }),
      "messages[0].content[1].image",
    ],
    [user({ type: "image_url", image_url: { url: "ftp://x/y.png" } }), "messages[0].content[0].image_url.url"],
  ])("form of a picture, %#", async (prompt, path) => {
    const { vlm, requests } = await load();
    expect(() => vlm.stream(prompt)).toThrow(
      expect.objectContaining({ code: "option", path: expect.stringContaining(path) }),
    );
    expect(requests).toHaveLength(0);
  });

  it("content of a picture", async () => {
    const { vlm, requests } = await load();
    const prompt: VLMMessage[] = [
      ...user(text("a")),
      { role: "assistant", content: "b" },
      ...user(picture(1), { type: "image", image: Buffer.from("no image") }),
    ];
    const failure = await failureOf(() => vlm.generate(prompt));
    expect(failure).toBeInstanceOf(MediaError);
    expect((failure as Error).message).toContain("messages[2].content[1].image");
    const missing = await failureOf(() => vlm.generate("a", { images: [SMALL, "nowhere/x.png"] }));
    expect(missing).toBeInstanceOf(MediaError);
    expect((missing as Error).message).toMatch(/images\[1\].*nowhere/);
    expect(requests).toHaveLength(0);
    const batch = await failureOf(() => vlm.generate(["a", user(picture("nowhere/y.png"))]));
    expect((batch as Error).message).toContain("prompt[1][0].content[0].image");
    expect((await vlm.generate("a", { images: [SMALL] })).text).toBe("seen");
  });

  it("unknown parts, fields and options", async () => {
    const { vlm } = await load();
    expect(await failureOf(() => vlm.generate(user({ type: "video", video: "x" } as never)))).toMatchObject({
      code: "option",
      path: expect.stringContaining("content[0]"),
    });
    expect(
      await failureOf(() => vlm.generate(user({ type: "image", image: SMALL, alhpa: "drop" } as never))),
    ).toMatchObject({
      code: "option",
      message: expect.stringContaining("alpha"),
    });
    expect(await failureOf(() => vlm.generate("a", { image: SMALL } as never))).toMatchObject({ suggestion: "images" });
    expect(await failureOf(() => vlm.generate("a", { images: SMALL as never }))).toMatchObject({ path: "images" });
    expect(await failureOf(() => vlm.generate(user(text("a")), { images: [SMALL] }))).toMatchObject({ path: "images" });
  });

  it("pictures that take too many tokens", async () => {
    const { vlm, encoder } = await load(undefined, { kvCache: { tokens: 64 } });
    const failure = await failureOf(() => vlm.generate("a", { images: [1, 2, 3, 4].map((level) => grey(level)) }));
    expect(failure).toBeInstanceOf(ContextLengthError);
    expect(failure).toMatchObject({ limit: 63, message: expect.stringMatching(/64 of them for pictures/) });
    // Told before anything is computed.
    expect(encoder.inferences).toHaveLength(0);
  });

  it("features that do not fit", async () => {
    const graphs = { openvino_vision_embeddings_model: () => [{ shape: [1, 15, 8], data: new Float32Array(120) }] };
    const { vlm } = await load(undefined, {}, { graphs });
    const failure = await failureOf(() => vlm.generate("a", { images: [grey(1)] }));
    expect(failure).toBeInstanceOf(ModelError);
    expect(failure).toMatchObject({ file: expect.stringContaining("openvino_vision_embeddings_model.xml") });
  });
});

describe("a call that is ended while a picture is encoded", () => {
  it.each(["stop", "cancel"] as const)("by %s() gives what there is: nothing", async (end) => {
    const { vlm, encoder, requests } = await load();
    encoder.hold();
    const stream = vlm.stream("a", { images: [grey(1), grey(2)] });
    while (encoder.waitingCount === 0) await turns(1);
    await stream[end]();
    const result = await stream.result;
    expect(result).toMatchObject({ text: "", tokens: [], finishReason: end === "stop" ? "stop" : "cancelled" });
    expect(encoder.waitingCount).toBe(0);
    expect(requests).toHaveLength(0);
    encoder.release();
    expect((await vlm.generate("a", { images: [grey(1)] })).text).toBe("seen");
  });

  it("by its signal or dispose() rejects once the encoder has ended", async () => {
    const { vlm, encoder } = await load();
    encoder.hold();
    const controller = new AbortController();
    const first = failureOf(() => vlm.generate("a", { images: [grey(1)], signal: controller.signal }));
    const second = failureOf(() => vlm.generate("a", { images: [grey(1)] }));
    while (encoder.waitingCount === 0) await turns(1);
    const reason = new Error("enough");
    controller.abort(reason);
    expect(await first).toBe(reason);
    // The other call still waits for the same features.
    expect(encoder.waitingCount).toBe(1);
    await vlm.dispose();
    expect(await second).toBeInstanceOf(DisposedError);
    expect(encoder.closed).toBe(true);
    expect(encoder.waitingCount).toBe(0);
  });
});

describe("the pipeline", () => {
  it("has no public constructor", () => {
    const Unchecked = VLMPipeline as unknown as new () => VLMPipeline;
    expect(() => new Unchecked()).toThrow(/VLMPipeline.load/);
  });

  it("streams, explains, counts and tells what it is", async () => {
    const { vlm, encoder } = await load();
    let streamed = "";
    for await (const chunk of vlm.stream("a", { images: [SMALL] })) streamed += chunk.text;
    expect(streamed).toBe("seen");
    expect(vlm.info).toMatchObject({ family: "LLaVA 1.5", architecture: "llava", vision: { device: "CPU" } });
    expect(vlm.stats().promptTokens).toBeGreaterThan(TINY_ROWS.count);
    const inferences = encoder.inferences.length;
    const explained = await vlm.explain({ prompt: "a", images: [grey(3), grey(4)] });
    expect(explained.prompt!.text).toBe("USER: <image>\n<image>\na ASSISTANT:");
    const tokens = await vlm.tokenizer.count(user(picture(3), picture(4), text("a")));
    expect(explained.prompt!.tokens).toBe(tokens);
    expect(explained.load).toMatchObject({
      family: { value: "LLaVA 1.5" },
      visionDevice: { value: "CPU", source: "default" },
      weights: { value: "file" },
    });
    // Counting runs no encoder.
    expect(encoder.inferences).toHaveLength(inferences);
    const { metrics } = await vlm.generate("a", { images: [grey(3)] });
    expect(metrics.stages.preprocess).toBeGreaterThan(0);
    expect(metrics.stages.encode).toBeGreaterThan(0);
  });

  it("refuses calls after dispose()", async () => {
    const { vlm } = await load();
    await vlm.dispose();
    expect(await failureOf(() => vlm.generate("a", { images: [SMALL] }))).toBeInstanceOf(DisposedError);
    expect(() => vlm.startChat()).toThrow(DisposedError);
  });

  it("names the families it knows when there is another", async () => {
    const failure = await failureOf(() => VLMPipeline.load(visionFixture("llm/llama-tiny-ir")));
    expect(failure).toSatisfy((error) => ModelError.isInstance(error) || UnsupportedError.isInstance(error));
  });
});
