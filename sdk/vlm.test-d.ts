import { Readable } from "node:stream";
import { describe, expectTypeOf, it } from "vitest";
import type {
  ChatJSON,
  ChatSession,
  ImageInput,
  ImagePart,
  LLMPipeline,
  PipelineStream,
  Prompt,
  RgbImage,
  VLMChunk,
  VLMMessage,
  VLMOptions,
  VLMPart,
  VLMResult,
} from "./index.js";
import { VLMPipeline } from "./index.js";

declare const vlm: VLMPipeline;
declare const llm: LLMPipeline;
declare const picture: RgbImage;
const part: ImagePart = { type: "image", image: "cat.jpg", alpha: "drop" };

describe("generate", () => {
  it("gives one result for one prompt, and an array for an array", () => {
    const messages: VLMMessage[] = [{ role: "user", content: [part, { type: "text", text: "What?" }] }];
    expectTypeOf(vlm.generate(messages)).resolves.toEqualTypeOf<VLMResult>();
    expectTypeOf(vlm.generate("What?", { images: [picture, "cat.jpg"] })).resolves.toEqualTypeOf<VLMResult>();
    expectTypeOf(vlm.generate(["a", messages])).resolves.toEqualTypeOf<VLMResult[]>();
    expectTypeOf<Prompt<VLMPart>>().toEqualTypeOf<string | readonly VLMMessage[]>();
    void vlm.generate([
      { role: "user", content: [{ type: "image_url", image_url: { url: "https://x/y.png", detail: "low" } }] },
    ]);
  });

  it("takes everything that is an image", () => {
    const forms: ImageInput[] = [
      "a.png",
      new URL("https://host/a.png"),
      Buffer.from(""),
      new Uint8Array(3),
      new ArrayBuffer(3),
      new Blob([]),
      new File([], "a.png"),
      new Blob([]).stream(),
      Readable.from([]) as AsyncIterable<Uint8Array>,
      picture,
      { data: new Uint8ClampedArray(4), width: 1, height: 1, channels: 4 },
      { data: new Float32Array(3), width: 1, height: 1 },
    ];
    expectTypeOf<VLMOptions["images"]>().toEqualTypeOf<readonly ImageInput[] | undefined>();
    void vlm.generate("a", { images: forms });
  });

  it("rejects what is none", () => {
    // @ts-expect-error a number is no image
    void vlm.generate("a", { images: [5] });
    // @ts-expect-error an array is needed
    void vlm.generate("a", { images: "cat.jpg" });
    // @ts-expect-error no such mode
    void vlm.generate([{ role: "user", content: [{ type: "image", image: "a", alpha: "keep" }] }]);
    // @ts-expect-error no such part
    void vlm.generate([{ role: "user", content: [{ type: "video", video: "a" }] }]);
    // @ts-expect-error this pipeline reads text only
    void llm.generate([{ role: "user", content: [part] }]);
    // @ts-expect-error this pipeline reads text only
    void llm.generate("a", { images: ["cat.jpg"] });
    void VLMPipeline.load("a", { weights: "file", groupSize: 64 });
    // @ts-expect-error no such form of weights
    void VLMPipeline.load("a", { weights: "q4" });
    // @ts-expect-error there is no public constructor
    expectTypeOf(new VLMPipeline()).not.toBeAny();
  });
});

describe("stream and chat", () => {
  it("carry pictures", () => {
    expectTypeOf(vlm.stream("a", { images: ["a.png"] })).toEqualTypeOf<PipelineStream<VLMChunk, VLMResult>>();
    const chat = vlm.startChat();
    expectTypeOf(chat).toEqualTypeOf<ChatSession<VLMPart>>();
    expectTypeOf(chat.send([part])).toEqualTypeOf<PipelineStream<VLMChunk, VLMResult>>();
    expectTypeOf(chat.history).toEqualTypeOf<VLMMessage[]>();
    expectTypeOf(chat.toJSON()).toEqualTypeOf<ChatJSON<VLMPart>>();
    expectTypeOf(vlm.restoreChat(chat.toJSON())).toEqualTypeOf<ChatSession<VLMPart>>();
    expectTypeOf(vlm.startChat({ history: chat.history })).toEqualTypeOf<ChatSession<VLMPart>>();
    // @ts-expect-error pictures are parts of a message
    chat.send("a", { images: ["a.png"] });
    // @ts-expect-error a chat of an LLMPipeline has no pictures
    llm.startChat().send([part]);
  });
});

describe("info and explain", () => {
  it("tell the family", () => {
    expectTypeOf(vlm.info.family).toBeString();
    expectTypeOf(vlm.info.vision.device).toBeString();
    expectTypeOf(vlm.explain({ prompt: "a", images: ["a.png"] })).resolves.toHaveProperty("prompt");
    expectTypeOf(vlm.tokenizer.count([{ role: "user", content: [part] }])).resolves.toBeNumber();
  });
});
